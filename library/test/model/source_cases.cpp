#include <cstddef>

#include "cases.h"
#include "reap/source/arena.h"
#include "reap/source/cached_pages.h"
#include "reap/source/chunk_cache.h"
#include "reap/source/malloc.h"
#include "reap/source/system_pages.h"
#include "reap/testkit/subject.h"

// Where pages come from. Each is a source, so the kit's own adapter serves.

#if REAP_ASAN
// What cannot be had is asked for on purpose, also of malloc.
extern "C" const char *__asan_default_options() { return "allocator_may_return_null=1"; }
#endif

namespace reap::test {

using testkit::factory;
using testkit::FailingSource;
using testkit::SourceSubject;

void add_source_cases(Cases &cases) {
    cases.push_back({"SystemPages", factory([] { return SourceSubject<SystemPages>(); }), false, false});
    cases.push_back({"CachedPages", factory([] { return SourceSubject<CachedPages>(); }), false, false});
    cases.push_back({"ChunkCache", factory([](FailingSource<> &upstream) {
                         return SourceSubject<ChunkCache<Below>>(Below(upstream));
                     }),
                     true, false});
    cases.push_back({"ChunkCache/small", factory([](FailingSource<> &upstream) {
                         return SourceSubject<ChunkCache<Below>>(Below(upstream), std::size_t{20000});
                     }),
                     true, false});
    cases.push_back({"Malloc", factory([] { return SourceSubject<Malloc>(); }), false, false});
    Case arena = over_upstream<Arena<Below>>("Arena", {}, true, std::size_t{2} << 20);
    Case grows = over_upstream<Arena<Below>>("Arena/grows", {}, true, std::size_t{64} << 10,
                                             ArenaOptions{.grows = true, .limit = std::size_t{8} << 20});
    // Pages stand side by side, and no guard between them: the arena's own tests have what it finds.
    arena.checks_misuse = false;
    grows.checks_misuse = false;
    cases.push_back(std::move(arena));
    cases.push_back(std::move(grows));
}

} // namespace reap::test
