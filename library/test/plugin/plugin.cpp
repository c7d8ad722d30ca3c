// A plugin as others write them, with layers of static storage. What it uses keeps a thread's memory and
// notices the thread's end.
#include "reap/layer/per_thread_reap.h"
#include "reap/layer/region.h"

namespace {
reap::Region<> region;
reap::PerThreadReap<> reaps;
} // namespace

extern "C" [[gnu::visibility("default")]] void use_region() { (void)region.allocate(100); }
extern "C" [[gnu::visibility("default")]] void use_reaps() {
    reap::PerThreadReap<>::deallocate(reaps.allocate(100));
}
extern "C" [[gnu::visibility("default")]] void use_reaps_for_a_while() {
    reap::PerThreadReap<> mine;
    reap::PerThreadReap<>::deallocate(mine.allocate(100));
}
