#include <cstddef>
#include <memory_resource>
#include <string>
#include <utility>

#include "cases.h"
#include "reap/layer/count.h"
#include "reap/layer/fallback.h"
#include "reap/layer/region.h"
#include "reap/layer/segregate.h"
#include "reap/layer/size_class_allocator.h"
#include "reap/layer/trace.h"
#include "reap/source/buffer.h"
#include "reap/source/limit.h"
#include "reap/source/upstream.h"

// Layers that put others together, and some of what they are put together to.

namespace reap::test {
namespace {

using testkit::FailingSource;

/// The parts of a composition, of which `top` is what is used.
template <class Parts>
class Composed {
  public:
    explicit Composed(FailingSource<> &upstream) : parts_(upstream) {}
    void *try_allocate(std::size_t size, std::size_t alignment) noexcept {
        return parts_.top.try_allocate(size, alignment);
    }
    void *allocate(std::size_t size, std::size_t alignment) {
        return obtain<Failure::throws>(parts_.top, size, alignment);
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) noexcept {
        parts_.top.deallocate(data, size, alignment);
    }
    [[nodiscard]] bool owns(const void *address) const noexcept
        requires requires(const Parts &parts) { parts.top.owns(address); }
    {
        return parts_.top.owns(address);
    }

  private:
    Parts parts_;
};

template <class Parts>
Case composed(std::string name, bool bounded = false, bool checks_misuse = false) {
    Case made{std::move(name), testkit::factory([bounded](FailingSource<> &upstream) {
                  return LimitedSubject<Composed<Parts>>(testkit::Limits{}, bounded, upstream);
              })};
    made.checks_misuse = checks_misuse;
    return made;
}

/// A few KB in the object itself.
class OwnBuffer {
  public:
    explicit OwnBuffer(FailingSource<> & /*upstream*/) {}

  private:
    alignas(64) std::byte memory_[10000];

  public:
    Buffer top{memory_};
};

struct Segregated {
    explicit Segregated(FailingSource<> &upstream)
        : small(Below(upstream)), large(Below(upstream)), top(Ref(small), Ref(large)) {}
    SizeClassAllocator<Below> small;
    Region<Below> large;
    Segregate<256, Ref<SizeClassAllocator<Below>>, Ref<Region<Below>>> top;
};

struct FallsBack {
    explicit FallsBack(FailingSource<> &upstream) : first(upstream), top(Ref(first.top), Below(upstream)) {}
    OwnBuffer first;
    Fallback<Ref<Buffer>, Below> top;
};

struct CountedAndTraced {
    explicit CountedAndTraced(FailingSource<> &upstream)
        : region(Below(upstream)), counted(Ref(region)), top(Ref(counted), LastEvents<64>()) {}
    Region<Below> region;
    Count<Ref<Region<Below>>> counted;
    Trace<Ref<Count<Ref<Region<Below>>>>, LastEvents<64>> top;
};

struct RegionOnLimit {
    explicit RegionOnLimit(FailingSource<> &upstream) : limit(Below(upstream), 200000), top(Ref(limit)) {}
    Limit<Below> limit;
    Region<Ref<Limit<Below>>> top;
};

struct RegionOnResource {
    explicit RegionOnResource(FailingSource<> &upstream) : resource(upstream), top(Upstream<>(&resource)) {}
    testkit::FailingResource resource;
    Region<Upstream<>> top;
};

} // namespace

void add_composing_cases(Cases &cases) {
    Case limit = over_upstream<Limit<Below>>("Limit", {}, true, std::size_t{100000});
    limit.checks_misuse = false;
    cases.push_back(std::move(limit));
    Case buffer = composed<OwnBuffer>("Buffer", true);
    buffer.fails_with_upstream = false;
    cases.push_back(std::move(buffer));
    // What the small side cannot meet is refused: classes are aligned to 64 at most.
    cases.push_back(composed<Segregated>("Segregate", true));
    cases.push_back(composed<FallsBack>("Fallback"));
    cases.push_back(composed<CountedAndTraced>("Count-Trace-Region", false, true));
    cases.push_back(composed<RegionOnLimit>("Region-on-Limit", true, true));
    cases.push_back(composed<RegionOnResource>("Region-on-Upstream", false, true));
}

} // namespace reap::test
