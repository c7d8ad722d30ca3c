// Compiled once for each setting; SETTING is its name.

#include "setting.h"

#include <cstring>
#include <map>
#include <memory_resource>
#include <vector>

#include "reap/core/misuse.h"
#include "reap/face/allocator.h"
#include "reap/face/pmr.h"
#include "reap/layer/region.h"

namespace {

/// Says that it ended.
struct Flag {
    explicit Flag(bool &ended) : ended_(&ended) {}
    Flag(const Flag &) = delete;
    Flag &operator=(const Flag &) = delete;
    ~Flag() { *ended_ = true; }

  private:
    bool *ended_;
};

/// Two containers and a plain object, all there after `inner`.
bool use(reap::Region<> &region, reap::PmrResource<> &resource, const std::function<void()> &inner) {
    std::pmr::map<int, int> squares(&resource);
    std::vector<int, reap::StlAllocator<int>> numbers(region);
    for (int i = 0; i < 5000; ++i) {
        squares[i] = i * i;
        numbers.push_back(i);
        std::memset(region.allocate(40), i, 40);
    }
    inner();
    bool good = squares.size() == 5000 && region.owns(numbers.data());
    for (int i = 0; i < 5000; ++i) good = good && squares.at(i) == numbers[static_cast<std::size_t>(i)] * i;
    return good;
}

bool work(const std::function<void()> &inner) {
    bool ended = false;
    reap::Region region;
    reap::PmrResource<> resource;
    (void)region.create<Flag>(ended);
    const auto mark = region.mark();
    bool good = use(region, resource, inner);
    void *const object = region.allocate(24);
    if constexpr (reap::checked) region.deallocate(object, 25);
    good = good && region.rewind(mark) && !ended;
    region.reset();
    return good && ended;
}

} // namespace

extern const Setting SETTING{SETTING_NAME, reap::checked, reap::hardened, work};
