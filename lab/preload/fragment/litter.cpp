#include "litter.h"

#include <algorithm>

#include "alias_table.h"
#include "platform.h"

namespace reap::preload {
namespace {

// Prefetch distance in blocks: random frees would otherwise wait for one cache miss after another.
constexpr uint64_t kAhead = 12;
constexpr size_t kPage = 4096;

// Memory from mmap, unmapped by the destructor.
class Mapped {
  public:
    explicit Mapped(size_t bytes) noexcept : bytes_(bytes), memory_(map_private(bytes)) {
        // Otherwise a list of ten million blocks in random order misses the TLB at every access.
        if (memory_ != nullptr) madvise(memory_, bytes_, MADV_HUGEPAGE);
    }
    ~Mapped() {
        if (memory_ != nullptr) munmap(memory_, bytes_);
    }
    Mapped(const Mapped &) = delete;
    Mapped &operator=(const Mapped &) = delete;
    [[nodiscard]] void *get() const noexcept { return memory_; }

  private:
    size_t bytes_;
    void *memory_;
};

// A block and the index of its size in one word: user-space addresses on x86-64 leave 16 bits free, unless
// the program requests addresses beyond 2^47.
class Block {
  public:
    Block() = default;
    Block(void *address, uint32_t size) noexcept
        : word_(reinterpret_cast<uint64_t>(address) | uint64_t{size} << kAddressBits) {}
    [[nodiscard]] void *address() const noexcept { return reinterpret_cast<void *>(bits()); }
    [[nodiscard]] uint64_t bits() const noexcept { return word_ & ((uint64_t{1} << kAddressBits) - 1); }
    [[nodiscard]] uint32_t size() const noexcept { return static_cast<uint32_t>(word_ >> kAddressBits); }

  private:
    static constexpr unsigned kAddressBits = 48;
    uint64_t word_;
};
static_assert(REAP_LITTER_MOST_SIZES < 1u << 16);

// Makes every page resident, as in a process that has used its memory.
void touch(void *block, size_t size) noexcept {
    auto *bytes = static_cast<volatile unsigned char *>(block);
    for (size_t at = 0; at < size; at += kPage) bytes[at] = 1;
    if (size > 0) bytes[size - 1] = 1;
}

// Moves a random choice of `chosen` blocks to the front, in random order.
void shuffle(Block *blocks, uint64_t count, uint64_t chosen, Random random) noexcept {
    Random ahead = random; // the same sequence, `kAhead` numbers earlier
    for (uint64_t i = 0; i < std::min(kAhead, chosen); ++i) {
        __builtin_prefetch(&blocks[i + ahead.below(count - i)], 1);
    }
    for (uint64_t i = 0; i < chosen; ++i) {
        if (i + kAhead < chosen) {
            const uint64_t next = i + kAhead;
            __builtin_prefetch(&blocks[next + ahead.below(count - next)], 1);
        }
        std::swap(blocks[i], blocks[i + random.below(count - i)]);
    }
}

// Prefetches the cache lines in which an allocator is likely to keep metadata: before the block, at its
// start, and before the next one.
void fetch(const void *block, size_t size) noexcept {
    const auto *bytes = static_cast<const char *>(block);
    __builtin_prefetch(bytes - 8, 1);
    __builtin_prefetch(bytes + size, 1);
}

void release_all(const LitterPlan &plan, const Block *blocks, uint64_t count, const Heap &heap) noexcept {
    for (uint64_t i = 0; i < count; ++i) {
        if (i + kAhead < count) {
            const Block &later = blocks[i + kAhead];
            fetch(later.address(), plan.sizes[later.size()].size);
        }
        heap.release(blocks[i].address());
        if ((i + 1) % kSettleEvery == 0) heap.settle();
    }
    heap.settle();
}

} // namespace

LitterResult litter(const LitterPlan &plan, const Heap &heap) noexcept {
    LitterResult result;
    if (plan.objects == 0 || plan.size_count == 0) return result;
    const Mapped columns(plan.size_count * sizeof(AliasTable::Column));
    const Mapped list(plan.objects * sizeof(Block));
    if (columns.get() == nullptr || list.get() == nullptr) {
        result.failure = REAP_LITTER_NO_BOOKKEEPING;
        return result;
    }
    auto *const blocks = static_cast<Block *>(list.get());
    Random random(plan.seed);
    const AliasTable table(plan.sizes, plan.size_count, static_cast<AliasTable::Column *>(columns.get()));
    for (uint64_t i = 0; i < plan.objects; ++i) {
        const uint32_t index = table.draw(random);
        const size_t size = plan.sizes[index].size;
        void *const block = heap.allocate(size);
        if (block == nullptr && size != 0) { // for size 0, null is a valid result
            release_all(plan, blocks, i, heap);
            result = {};
            result.failure = REAP_LITTER_NO_MEMORY;
            return result;
        }
        if (plan.touch) touch(block, size);
        blocks[i] = Block(block, index);
        result.bytes += size;
    }
    result.objects = plan.objects;
    result.kept = std::min(plan.kept, plan.objects);
    const uint64_t freed = plan.objects - result.kept;
    shuffle(blocks, plan.objects, freed, Random(random.next()));
    if (plan.order != REAP_LITTER_RANDOM) {
        const bool reversed = plan.order == REAP_LITTER_REVERSED;
        std::sort(blocks, blocks + freed, [reversed](const Block &a, const Block &b) {
            return reversed ? b.bits() < a.bits() : a.bits() < b.bits();
        });
    }
    release_all(plan, blocks, freed, heap);
    for (uint64_t i = freed; i < plan.objects; ++i) result.kept_bytes += plan.sizes[blocks[i].size()].size;
    return result;
}

} // namespace reap::preload
