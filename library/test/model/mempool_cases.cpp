#include "reap/layer/mempool.h"

#include <cstddef>
#include <set>
#include <span>
#include <string>

#include "cases.h"

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::Limits;
using testkit::Object;

/// A pool; walking over it has to meet the live objects, each once.
template <class T>
class MempoolSubject {
  public:
    static constexpr bool told_sizes = false;

    MempoolSubject(FailingSource<> &upstream, std::size_t objects) : pool_(Below(upstream), objects) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        return fits(size, alignment) ? Allocation{pool_.try_allocate(), sizeof(T)} : Allocation{};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        if (!fits(size, alignment)) throw_bad_alloc();
        return {pool_.allocate(), sizeof(T)};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) {
        pool_.deallocate(static_cast<T *>(data));
    }
    bool owns(const void *address) { return pool_.owns(address); }
    void reset() {
        const std::size_t keeps[] = {keep_all, keep_none, std::size_t{10000}};
        pool_.clear(keeps[++turn_ % 3]);
    }
    std::string inspect(std::span<const Object> live) {
        std::set<const void *> wanted;
        for (const Object &object : live) wanted.insert(object.data);
        for (T &object : pool_) {
            if (wanted.erase(&object) != 1) return "the walk meets what is not live, or meets it twice";
        }
        if (!wanted.empty()) return "the walk misses what is live";
        std::size_t met = 0;
        for (auto part : pool_.parts()) {
            for ([[maybe_unused]] T &object : part) ++met;
        }
        if (met != live.size()) return "the walk over parts is not the walk over all";
        if (pool_.statistics().live != live.size()) return "it counts another number of objects";
        return {};
    }
    static Limits limits() {
        return {.smallest = sizeof(T), .largest = sizeof(T), .largest_alignment = alignof(T)};
    }

  private:
    static bool fits(std::size_t size, std::size_t alignment) {
        return size == sizeof(T) && is_alignment(alignment) && alignment <= alignof(T);
    }

    Mempool<T, Below> pool_;
    std::size_t turn_ = 0;
};

template <class T>
Case mempool(std::string name, std::size_t objects = Mempool<T>::default_objects_per_chunk()) {
    return {std::move(name), testkit::factory([objects](FailingSource<> &upstream) {
                return MempoolSubject<T>(upstream, objects);
            })};
}

} // namespace

void add_mempool_cases(Cases &cases) {
    cases.push_back(mempool<Plain<64, 8>>("Mempool"));
    cases.push_back(mempool<Plain<1, 1>>("Mempool/byte"));
    cases.push_back(mempool<Plain<24, 8>>("Mempool/one-a-chunk", 1));
    cases.push_back(mempool<Plain<128, 64>>("Mempool/aligned", 65));
    cases.push_back(mempool<Plain<9000, 8>>("Mempool/large", 7));
}

} // namespace reap::test
