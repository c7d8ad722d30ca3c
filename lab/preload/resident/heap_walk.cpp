#include "heap_walk.h"

#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform.h"

namespace reap::preload {
namespace {

constexpr uint64_t page = 4096;
constexpr uint64_t header = 16;       // of a chunk in use
constexpr uint64_t smallest = 32;     // chunk
constexpr uint64_t links = 48;        // sizeof(struct malloc_chunk): what malloc_trim leaves of a free one
constexpr uint64_t previous_used = 1; // bits of a size
constexpr uint64_t mapped = 2;
constexpr uint64_t other_arena = 4;
constexpr uint64_t bits = 7;

uint64_t round_up(uint64_t address) noexcept { return (address + page - 1) & ~(page - 1); }
uint64_t round_down(uint64_t address) noexcept { return address & ~(page - 1); }

// Reads the memory of this process through the kernel, a few pages at a time.
class Window {
  public:
    void forget() noexcept { begin_ = end_ = 0; }

    // The word at an address that is a multiple of 8.
    bool word(uint64_t address, uint64_t &value) noexcept {
        if ((address < begin_ || address >= end_) && !move_to(round_down(address))) return false;
        memcpy(&value, text_ + (address - begin_), sizeof value);
        return true;
    }

  private:
    static constexpr uint64_t pages = 16;

    // The requested page holds a chunk's head, and so is resident or swapped out. Of the pages after it only
    // resident ones are read: reading others would make them resident.
    bool move_to(uint64_t wanted) noexcept {
        unsigned char there[pages];
        uint64_t count = pages;
        while (syscall(SYS_mincore, wanted, count * page, there) != 0) { // fewer near the end of the heap
            count /= 2;
            if (count == 0) return false;
        }
        uint64_t in_a_row = 1;
        while (in_a_row < count && (there[in_a_row] & 1) != 0) ++in_a_row;
        const uint64_t bytes = in_a_row * page;
        const iovec here{text_, bytes};
        const iovec from{reinterpret_cast<void *>(wanted), bytes};
        forget();
        if (syscall(SYS_process_vm_readv, getpid(), &here, 1L, &from, 1L, 0L) != static_cast<long>(bytes)) {
            return false;
        }
        begin_ = wanted;
        end_ = wanted + bytes;
        return true;
    }

    uint64_t begin_ = 0;
    uint64_t end_ = 0;
    alignas(8) unsigned char text_[pages * page] = {};
};

// Bytes of [begin, end) that are resident.
uint64_t resident(uint64_t begin, uint64_t end) noexcept {
    static unsigned char pages[16384];
    uint64_t bytes = 0;
    for (uint64_t at = round_down(begin); at < end;) {
        const uint64_t left = (round_up(end) - at) / page;
        const uint64_t count = left < sizeof pages ? left : sizeof pages;
        if (syscall(SYS_mincore, at, count * page, pages) != 0) return bytes;
        for (uint64_t i = 0; i < count; ++i) bytes += (pages[i] & 1) * page;
        at += count * page;
    }
    return bytes;
}

void count_used(reap_resident_walk &walk, uint64_t size) noexcept {
    walk.live += size;
    ++walk.live_blocks;
    ++walk.above_blocks;
    walk.above_bytes += size;
}

void count_free(reap_resident_walk &walk, uint64_t chunk, uint64_t size) noexcept {
    walk.free += size;
    const uint64_t first = round_up(chunk + links);
    const uint64_t last = round_down(chunk + size);
    if (last <= first) return;
    walk.whole += last - first;
    walk.whole_resident += resident(first, last);
    if (last - first <= walk.largest) return;
    walk.largest = last - first;
    walk.above_blocks = 0;
    walk.above_bytes = 0;
}

} // namespace

bool walk_heap(uint64_t begin, uint64_t end, reap_resident_walk &walk) noexcept {
    walk = {};
    uint64_t chunk = (begin + header - 1) & ~(header - 1);
    static constinit Window window;
    window.forget();
    uint64_t head = 0;
    if (begin == 0 || chunk + smallest > end || !window.word(chunk + 8, head)) return false;
    for (;;) {
        const uint64_t size = head & ~bits;
        if (size < smallest || size % header != 0 || size > end - chunk) return false;
        if ((head & (mapped | other_arena)) != 0) return false;
        const uint64_t next = chunk + size;
        if (next == end) { // the top
            walk.top = size;
            break;
        }
        if (next + header > end || !window.word(next + 8, head)) return false;
        if ((head & previous_used) != 0) {
            count_used(walk, size);
        } else {
            count_free(walk, chunk, size);
        }
        chunk = next;
    }
    walk.begin = begin;
    walk.bytes = end - begin;
    walk.resident = resident(begin, end);
    walk.top_resident = resident(round_up(chunk + header), end);
    return true;
}

uint64_t current_break() noexcept { return static_cast<uint64_t>(syscall(SYS_brk, 0)); }

uint64_t initial_break() noexcept {
    char text[2048];
    const size_t length = read_file("/proc/self/stat", text, sizeof text - 1);
    text[length] = '\0';
    const char *at = strrchr(text, ')'); // the name before it may contain anything
    if (at == nullptr) return 0;
    // The name is the 2nd field, start_brk the 47th.
    for (int field = 2; field < 47; ++field) {
        at = strchr(at + 1, ' ');
        if (at == nullptr) return 0;
    }
    uint64_t value = 0;
    for (++at; *at >= '0' && *at <= '9'; ++at) value = value * 10 + static_cast<uint64_t>(*at - '0');
    return value;
}

} // namespace reap::preload
