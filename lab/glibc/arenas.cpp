#include "arenas.h"

#include <cstring>

#include "memory_view.h"

namespace reap::glibc {
namespace {

constexpr uint64_t word = 8;
constexpr uint64_t bins = 127;
constexpr uint64_t bins_bytes = bins * 2 * word;
// Fields behind the bins: a map of 16 bytes, then these, a word each.
constexpr uint64_t next_arena = bins_bytes + 16;
constexpr uint64_t system_memory = next_arena + 3 * word;
constexpr uint64_t behind_bins = system_memory + 2 * word;
// Before the bins.
constexpr uint64_t top = 2 * word;
constexpr uint64_t fastbins = 10;
constexpr uint64_t before_bins = top + fastbins * word;
// Before that: lock and flags; since 2.27 another flag, and padding.
constexpr uint64_t begins[] = {16, 8};

constexpr uint64_t heap_bytes = uint64_t{64} << 20;
constexpr uint64_t alignment = 16;
constexpr uint64_t bits = 7;
constexpr uint64_t most_arenas = 65536;
// The head of a heap: its arena, the heap before it, its size, and 8 to 24 bytes more.
constexpr uint64_t shortest_head = 32;
constexpr uint64_t longest_head = 48;

constexpr uint64_t start_of_heap(uint64_t address) noexcept { return address & ~(heap_bytes - 1); }

bool read_word(uint64_t address, uint64_t &value) noexcept {
    return address % word == 0 && read_memory(address, &value, sizeof value);
}

// The C library's data while it is searched.
constinit Window<16> data;

bool is(uint64_t at, uint64_t value) noexcept {
    uint64_t found = 0;
    return data.word(at, found) && found == value;
}

// Whether 127 lists begin here, of which the last is never used.
bool are_bins(uint64_t at) noexcept {
    const uint64_t last = at + (bins - 1) * 2 * word;
    if (!is(last, last - alignment) || !is(last + word, last - alignment)) return false;
    for (uint64_t link = at; link < last; link += word) {
        uint64_t value = 0;
        if (!data.word(link, value) || value == 0 || value % word != 0) return false;
    }
    return true;
}

} // namespace

bool Arenas::find() noexcept {
    if (main_ != 0) return true;
    data.forget();
    const uint64_t first = (begin_ + before_bins + begins[0] + word - 1) & ~(word - 1);
    for (uint64_t at = first; at + behind_bins <= end_; at += word) {
        if (!are_bins(at)) continue;
        main_ = main_of(at);
        if (main_ == 0) continue;
        bins_ = at - main_;
        return true;
    }
    return false;
}

// The list of arenas comes back to the main one, wherever that begins before its bins; 0 if it does not.
uint64_t Arenas::main_of(uint64_t at) noexcept {
    for (const uint64_t begin : begins) {
        const uint64_t before = before_bins + begin;
        const uint64_t arena = at - before;
        uint64_t other = 0;
        if (!read_word(at + next_arena, other)) return 0;
        for (uint64_t i = 0; i < most_arenas && other != arena; ++i) {
            const uint64_t head = other - start_of_heap(other);
            if (head < shortest_head || head > longest_head) break;
            if (!read_word(other + before + next_arena, other)) break;
        }
        if (other == arena) return arena;
    }
    return 0;
}

uint64_t Arenas::next(uint64_t arena) const noexcept {
    uint64_t other = 0;
    return read_word(arena + bins_ + next_arena, other) ? other : 0;
}

uint64_t Arenas::system_bytes(uint64_t arena) const noexcept {
    uint64_t bytes = 0;
    return read_word(arena + bins_ + system_memory, bytes) ? bytes : 0;
}

// `struct malloc_par` ends with the bytes that are mapped, the most that were, and the heap's begin; since
// 2.26 sizes of thread caches follow.
bool Arenas::mapped_bytes(uint64_t first, uint64_t &bytes) const noexcept {
    data.forget();
    for (uint64_t at = ((begin_ + word - 1) & ~(word - 1)) + 2 * word; at + word <= end_; at += word) {
        uint64_t most = 0;
        uint64_t now = 0;
        if (!is(at, first) || !data.word(at - word, most) || !data.word(at - 2 * word, now)) continue;
        if (now > most || now % page != 0 || most % page != 0) continue;
        bytes = now;
        return true;
    }
    return false;
}

bool Arenas::last_heap(uint64_t arena, Heap &heap, bool &valid) const noexcept {
    uint64_t chunk = 0;
    valid = read_word(arena + bins_ - top, chunk) && describe(arena, start_of_heap(chunk), heap);
    heap.has_top = true;
    return valid;
}

bool Arenas::heap_before(uint64_t arena, Heap &heap, bool &valid) const noexcept {
    valid = true;
    if (heap.begin == start_of_heap(arena)) return false;
    uint64_t before = 0;
    valid = read_word(heap.begin + word, before) && before != heap.begin && describe(arena, before, heap);
    heap.has_top = false;
    return valid;
}

bool Arenas::describe(uint64_t arena, uint64_t begin, Heap &heap) const noexcept {
    uint64_t head[3]; // its arena, the heap before it, its size
    const uint64_t head_bytes = arena - start_of_heap(arena);
    if (begin % heap_bytes != 0 || head_bytes < shortest_head || head_bytes > longest_head) return false;
    if (!read_memory(begin, head, sizeof head) || head[0] != arena) return false;
    if (head[2] == 0 || head[2] > heap_bytes || head[2] % page != 0) return false;
    const bool first = begin == start_of_heap(arena);
    const uint64_t chunks = first ? arena + bins_ + behind_bins : begin + head_bytes;
    heap.begin = begin;
    heap.chunks = (chunks + alignment - 1) & ~(alignment - 1);
    heap.end = begin + head[2];
    heap.main = false;
    return true;
}

uint64_t Arenas::add_fast_chunks(uint64_t arena, bool mangled, uint64_t most,
                                 FastChunks &fast) const noexcept {
    static constinit Window<1> window;
    window.forget();
    uint64_t bytes = 0;
    uint64_t chunk = 0;
    for (uint64_t list = 0; list < fastbins; ++list) {
        if (!read_word(arena + bins_ - before_bins + list * word, chunk)) return bytes;
        const uint64_t size = 2 * alignment + list * alignment;
        while (chunk != 0 && most != 0) {
            uint64_t head = 0;
            uint64_t link = 0;
            const uint64_t at = chunk + 2 * word;
            if (chunk % alignment != 0 || !window.word(chunk + word, head) || (head & ~bits) != size) break;
            if (!window.word(at, link)) break;
            fast.add(chunk);
            bytes += size;
            --most;
            chunk = mangled ? at >> 12 ^ link : link;
        }
    }
    return bytes;
}

} // namespace reap::glibc
