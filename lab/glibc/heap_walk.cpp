#include "heap_walk.h"

#include "memory_view.h"

namespace reap::glibc {
namespace {

constexpr uint64_t header = 16;       // of a chunk in use
constexpr uint64_t smallest = 32;     // chunk
constexpr uint64_t links = 48;        // sizeof(struct malloc_chunk): what malloc_trim leaves of a free one
constexpr uint64_t previous_used = 1; // bits of a size
constexpr uint64_t mapped = 2;
constexpr uint64_t other_arena = 4;
constexpr uint64_t bits = 7;

// One walk over one heap.
class Walker {
  public:
    Walker(const Heap &heap, FastChunks &fast, ThreadCaches &caches, reap_resident_walk &walk) noexcept
        : heap_(heap), fast_(fast), caches_(caches), walk_(walk) {
        window_.forget();
        residency_.restart(heap.end);
    }

    bool run() noexcept {
        uint64_t chunk = heap_.chunks;
        uint64_t head = 0;
        if (heap_.begin == 0 || chunk + smallest > heap_.end || !window_.word(chunk + 8, head)) return false;
        while (!is_last(chunk, head)) {
            if (!is_chunk(chunk, head)) return false;
            const uint64_t size = head & ~bits;
            const uint64_t next = chunk + size;
            if (next + header > heap_.end || !window_.word(next + 8, head)) return false;
            if ((head & previous_used) == 0 || fast_.contains(chunk)) {
                if (free_ == 0) free_ = chunk;
            } else {
                end_free(chunk);
                count_used(chunk, size);
            }
            chunk = next;
        }
        return heap_.has_top ? count_top(chunk) : end_free(chunk);
    }

  private:
    // Whether a chunk is the top, or the first of the fenceposts.
    [[nodiscard]] bool is_last(uint64_t chunk, uint64_t head) const noexcept {
        const uint64_t left = heap_.end - chunk;
        if (heap_.has_top) return (head & ~bits) == left && left >= smallest;
        return (left == header && (head & ~bits) == 0) || (left == 2 * header && (head & ~bits) == header);
    }

    [[nodiscard]] bool is_chunk(uint64_t chunk, uint64_t head) const noexcept {
        const uint64_t size = head & ~bits;
        const uint64_t wrong = heap_.main ? mapped | other_arena : mapped;
        // The last block before the second fencepost may be as small as a header.
        const uint64_t least = heap_.has_top ? smallest : header;
        return size >= least && size % header == 0 && size <= heap_.end - chunk && (head & wrong) == 0;
    }

    void count_used(uint64_t chunk, uint64_t size) noexcept {
        walk_.live += size;
        ++walk_.live_blocks;
        ++walk_.above_blocks;
        walk_.above_bytes += size;
        const uint64_t first = round_up(chunk + header);
        const uint64_t last = round_down(chunk + size);
        if (last > first) walk_.untouched += last - first - residency_.bytes(first, last);
        caches_.look_at(chunk, size);
    }

    // Counts the free chunks before `end`, which are one to malloc_trim.
    bool end_free(uint64_t end) noexcept {
        const uint64_t begin = free_;
        free_ = 0;
        if (begin == 0) return true;
        walk_.free += end - begin;
        const uint64_t first = round_up(begin + links);
        const uint64_t last = round_down(end);
        if (last <= first) return true;
        walk_.whole += last - first;
        walk_.whole_resident += residency_.bytes(first, last);
        if (last - first <= walk_.largest) return true;
        walk_.largest = last - first;
        walk_.above_blocks = 0;
        walk_.above_bytes = 0;
        return true;
    }

    bool count_top(uint64_t chunk) noexcept {
        const uint64_t begin = free_ != 0 ? free_ : chunk;
        walk_.top = heap_.end - begin;
        walk_.top_resident = residency_.bytes(round_up(begin + header), heap_.end);
        return true;
    }

    static Window<16> window_;
    static Residency residency_;
    const Heap &heap_;
    FastChunks &fast_;
    ThreadCaches &caches_;
    reap_resident_walk &walk_;
    uint64_t free_ = 0; // where the free chunks before the current one begin; 0: it is not free
};

constinit Window<16> Walker::window_;
constinit Residency Walker::residency_;

} // namespace

bool walk_heap(const Heap &heap, FastChunks &fast, ThreadCaches &caches, reap_resident_walk &walk) noexcept {
    walk = {};
    Walker walker(heap, fast, caches, walk);
    if (!walker.run()) return false;
    static constinit Residency residency;
    residency.restart(heap.end);
    walk.begin = heap.begin;
    walk.bytes = heap.end - heap.begin;
    walk.resident = residency.bytes(heap.begin, heap.end);
    return true;
}

Heap main_heap(uint64_t begin, uint64_t end) noexcept {
    return {.begin = begin, .chunks = (begin + header - 1) & ~(header - 1), .end = end};
}

void add_walk(reap_resident_walk &sum, const reap_resident_walk &walk) noexcept {
    sum.bytes += walk.bytes;
    sum.resident += walk.resident;
    sum.live += walk.live;
    sum.live_blocks += walk.live_blocks;
    sum.untouched += walk.untouched;
    sum.free += walk.free;
    sum.whole += walk.whole;
    sum.whole_resident += walk.whole_resident;
    sum.top += walk.top;
    sum.top_resident += walk.top_resident;
}

} // namespace reap::glibc
