#include "reap/layer/best_fit.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>

#include "cases.h"
#include "reap/layer/quicklists.h"

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::Object;

/// A heap of boundary tags, whose tags are looked at.
template <class H>
class HeapSubject {
  public:
    static constexpr bool told_sizes = false;

    HeapSubject(FailingSource<> &upstream, const BestFitOptions &options) : heap_(Below(upstream), options) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        void *const object = heap_.try_allocate(size, alignment);
        return {object, object == nullptr ? 0 : best(heap_).usable_size(object)};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        void *const object = heap_.allocate(size, alignment);
        return {object, best(heap_).usable_size(object)};
    }
    void deallocate(void *data, std::size_t size, std::size_t alignment) {
        heap_.deallocate(data, size, alignment);
    }
    Allocation reallocate(void *data, std::size_t old_size, std::size_t new_size, std::size_t alignment) {
        void *const same = heap_.try_resize(data, old_size, new_size, alignment);
        if (same != nullptr) return {same, best(heap_).usable_size(same)};
        const Allocation moved = allocate(new_size, alignment);
        if (moved.data == nullptr) return {};
        std::memcpy(moved.data, data, std::min(best(heap_).usable_size(data), new_size));
        heap_.deallocate(data);
        return moved;
    }
    std::string inspect(std::span<const Object> /*live*/) {
        return best(heap_).check() ? "" : "its tags do not fit together";
    }

  private:
    template <class Any>
    static auto &best(Any &heap) {
        if constexpr (requires { heap.heap(); }) {
            return heap.heap();
        } else {
            return heap;
        }
    }

    H heap_;
};

template <class H>
Case heap(std::string name, const BestFitOptions &options) {
    // It looks for no misuse.
    return {std::move(name), testkit::factory([options](FailingSource<> &upstream) {
                return HeapSubject<H>(upstream, options);
            }),
            true, false};
}

} // namespace

void add_best_fit_cases(Cases &cases) {
    constexpr BestFitOptions small{.chunk = 16384};
    cases.push_back(heap<BestFit<Below>>("BestFit", small));
    cases.push_back(heap<BestFit<Below>>("BestFit/usual", {}));
    cases.push_back(heap<BestFit<Below, 8>>("BestFit/8", small));
    cases.push_back(heap<GoodFit<Below>>("GoodFit", small));
    cases.push_back(heap<GoodFit<Below, 8>>("GoodFit/usual", {}));
    cases.push_back(heap<Quicklists<BestFit<Below>>>("Quicklists", small));
    cases.push_back(heap<Quicklists<BestFit<Below, 8>, 5>>("Quicklists/few", small));
}

} // namespace reap::test
