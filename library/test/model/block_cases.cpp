#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "cases.h"
#include "reap/layer/fixed_block.h"
#include "reap/layer/per_class.h"
#include "reap/layer/size_class_allocator.h"

// Layers that allocate blocks of one size, or of a few.

namespace reap::test {
namespace {

using testkit::FailingSource;
using testkit::Limits;
using testkit::Object;

/// A pool, with its count of live blocks looked at.
class FixedBlockSubject : public LimitedSubject<FixedBlock<Below>> {
  public:
    FixedBlockSubject(FailingSource<> &upstream, std::size_t size, std::size_t alignment,
                      const FixedBlockOptions &options)
        : LimitedSubject({.largest = size, .largest_alignment = alignment},
                         options.limit != FixedBlockOptions{}.limit, Below(upstream), size, alignment,
                         options),
          upstream_(upstream) {}

    std::string inspect(std::span<const Object> live) {
        const FixedBlockStatistics now = source().statistics();
        if (now.live != live.size())
            return "it counts " + std::to_string(now.live) + " blocks where " + std::to_string(live.size()) +
                   " live";
        if (now.held > upstream_.outstanding_bytes() || now.held > source().options().limit)
            return "it says that it holds more than it was given, or may";
        return {};
    }

  private:
    FailingSource<> &upstream_;
};

Case fixed_block(std::string name, std::size_t size, std::size_t alignment,
                 const FixedBlockOptions &options = {}) {
    return {std::move(name), testkit::factory([=](FailingSource<> &upstream) {
                return FixedBlockSubject(upstream, size, alignment, options);
            })};
}

/// A freelist of one class.
template <class T>
class PerClassSubject {
  public:
    static constexpr bool told_sizes = false;

    PerClassSubject(FailingSource<> &upstream, Freelist freelist) : pool_(Below(upstream), freelist) {}

    Allocation allocate(std::size_t size, std::size_t alignment) {
        return fits(size, alignment) ? Allocation{pool_.try_allocate(), sizeof(T)} : Allocation{};
    }
    Allocation allocate_or_throw(std::size_t size, std::size_t alignment) {
        if (!fits(size, alignment)) throw_bad_alloc();
        return {pool_.allocate(), sizeof(T)};
    }
    void deallocate(void *data, std::size_t /*size*/, std::size_t /*alignment*/) {
        pool_.deallocate(data);
        if (++turn_ % 1000 == 0) pool_.release();
    }
    static Limits limits() {
        return {.smallest = sizeof(T), .largest = sizeof(T), .largest_alignment = alignof(T)};
    }

  private:
    static bool fits(std::size_t size, std::size_t alignment) {
        return size == sizeof(T) && is_alignment(alignment) && alignment <= alignof(T);
    }

    PerClass<T, Below> pool_;
    std::size_t turn_ = 0;
};

template <class T>
Case per_class(std::string name, Freelist freelist = Freelist::on) {
    return {std::move(name), testkit::factory([freelist](FailingSource<> &upstream) {
                return PerClassSubject<T>(upstream, freelist);
            })};
}

} // namespace

void add_block_cases(Cases &cases) {
    cases.push_back(fixed_block("FixedBlock", 64, 16));
    cases.push_back(fixed_block("FixedBlock/8", 8, 8));
    cases.push_back(fixed_block("FixedBlock/aligned", 192, 64, {.first_chunk = 1, .growth = 3}));
    cases.push_back(fixed_block("FixedBlock/page", 4096, 4096));
    cases.push_back(fixed_block("FixedBlock/large", 40000, 8, {.largest_chunk = 1}));
    cases.push_back(fixed_block("FixedBlock/limited", 256, 16, {.limit = 20000}));
    // A class is aligned to the power of two in it, at most 64.
    cases.push_back(over_upstream<SizeClassAllocator<Below>>(
        "SizeClassAllocator", {.largest = 256, .largest_alignment = 64}, false));
    cases.push_back(over_upstream<SizeClassAllocator<Below, 8, 24, 48, 96, 1024, 65536>>(
        "SizeClassAllocator/own-classes", {.largest = 65536, .largest_alignment = 64}, false));
    cases.push_back(over_upstream<SizeClassAllocator<Below>>("SizeClassAllocator/limited",
                                                             {.largest = 256, .largest_alignment = 64}, true,
                                                             FixedBlockOptions{.limit = 10000}));
    cases.push_back(per_class<Plain<40, 8>>("PerClass"));
    cases.push_back(per_class<Plain<1, 1>>("PerClass/byte"));
    cases.push_back(per_class<Plain<128, 64>>("PerClass/aligned"));
    cases.push_back(per_class<Plain<40, 8>>("PerClass/off", Freelist::off));
}

} // namespace reap::test
