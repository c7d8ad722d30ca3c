// Concern: arenas and their heaps are found wherever the C library's data has them; what is none, or changes,
// is refused and never crashes, and no list is followed for ever.
#include "arenas.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <vector>

namespace {

using reap::glibc::Arenas;
using reap::glibc::FastChunks;
using reap::glibc::Heap;

constexpr uint64_t page = 4096;
constexpr uint64_t span = uint64_t{64} << 20;
constexpr uint64_t before_bins = 96; // fastbins, top, last remainder
constexpr uint64_t bins_bytes = uint64_t{254} * 8;
constexpr uint64_t links = 16; // after the bins: a map, then the list of arenas

// The data of a C library with a main arena, and heaps of other arenas, as glibc lays them.
class Library {
  public:
    // `begin` bytes of an arena are before its fastbins, and `head` bytes of a heap before its chunks.
    Library(uint64_t begin, uint64_t head) : begin_(begin), head_(head), data_(1000) {
        memory_ = mmap(nullptr, 5 * span, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        heaps_ = (reinterpret_cast<uint64_t>(memory_) + span - 1) & ~(span - 1);
        for (size_t i = 0; i < data_.size(); i += 3) data_[i] = 16 * i; // other data
        main_ = reinterpret_cast<uint64_t>(&data_[100]);
        make_arena(main_);
        link(main_, main_);
    }
    ~Library() { munmap(memory_, 5 * span); }
    Library(const Library &) = delete;
    Library &operator=(const Library &) = delete;

    [[nodiscard]] uint64_t main() const { return main_; }
    [[nodiscard]] uint64_t data_begin() const { return reinterpret_cast<uint64_t>(data_.data()); }
    [[nodiscard]] uint64_t data_end() const { return data_begin() + data_.size() * 8; }
    [[nodiscard]] uint64_t heap(uint64_t number) const { return heaps_ + number * span; }
    static uint64_t &word(uint64_t address) { return *reinterpret_cast<uint64_t *>(address); }

    // A heap of 4 pages for an arena, after `before`; 0: it is the first, in which the arena lies.
    [[nodiscard]] uint64_t make_heap(uint64_t number, uint64_t arena, uint64_t before) const {
        const uint64_t at = heap(number);
        mprotect(reinterpret_cast<void *>(at), 4 * page, PROT_READ | PROT_WRITE);
        word(at) = arena;
        word(at + 8) = before;
        word(at + 16) = 4 * page;
        return at;
    }
    [[nodiscard]] uint64_t make_first_heap(uint64_t number) const {
        const uint64_t arena = heap(number) + head_;
        (void)make_heap(number, arena, 0);
        make_arena(arena);
        set_top(arena, first_chunk(arena));
        return arena;
    }
    [[nodiscard]] uint64_t first_chunk(uint64_t arena) const {
        return (arena + begin_ + before_bins + bins_bytes + links + 40 + 15) & ~uint64_t{15};
    }
    void set_top(uint64_t arena, uint64_t chunk) const { word(bins(arena) - 16) = chunk; }
    void set_fastbin(uint64_t arena, uint64_t list, uint64_t chunk) const {
        word(arena + begin_ + list * 8) = chunk;
    }
    void link(uint64_t arena, uint64_t next) const { word(bins(arena) + bins_bytes + links) = next; }
    void set_system_bytes(uint64_t arena, uint64_t bytes) const {
        word(bins(arena) + bins_bytes + links + 24) = bytes;
    }

  private:
    [[nodiscard]] uint64_t bins(uint64_t arena) const { return arena + begin_ + before_bins; }

    void make_arena(uint64_t arena) const {
        for (uint64_t at = arena; at < bins(arena); at += 8) word(at) = 0;
        for (uint64_t bin = bins(arena); bin < bins(arena) + bins_bytes; bin += 16) {
            word(bin) = word(bin + 8) = bin - 16;
        }
        set_top(arena, bins(arena) - 16);
    }

    uint64_t begin_;
    uint64_t head_;
    std::vector<uint64_t> data_;
    void *memory_;
    uint64_t heaps_;
    uint64_t main_;
};

std::vector<Heap> heaps_of(Arenas &arenas, uint64_t arena, bool &valid) {
    std::vector<Heap> found;
    Heap heap;
    for (bool more = arenas.last_heap(arena, heap, valid); more;
         more = arenas.heap_before(arena, heap, valid)) {
        found.push_back(heap);
    }
    return found;
}

TEST(Arenas, HeapsOfEachVersionAreFound) {
    for (const auto &[begin, head] : {std::pair<uint64_t, uint64_t>{8, 32}, {16, 32}, {16, 48}}) {
        const Library library(begin, head);
        const uint64_t first = library.make_first_heap(0);
        const uint64_t second = library.make_first_heap(1);
        library.link(library.main(), second);
        library.link(second, first);
        library.link(first, library.main());
        const uint64_t last = library.make_heap(2, second, library.heap(1));
        library.set_top(second, last + 64);
        library.set_system_bytes(second, 8 * page);
        Arenas arenas;
        arenas.look_in(library.data_begin(), library.data_end());
        ASSERT_TRUE(arenas.find());
        EXPECT_EQ(arenas.main(), library.main());
        EXPECT_EQ(arenas.next(arenas.main()), second);
        EXPECT_EQ(arenas.next(second), first);
        EXPECT_EQ(arenas.next(first), arenas.main());
        EXPECT_EQ(arenas.system_bytes(second), 8 * page);
        bool valid = false;
        const std::vector<Heap> found = heaps_of(arenas, second, valid);
        EXPECT_TRUE(valid);
        ASSERT_EQ(found.size(), 2u);
        EXPECT_EQ(found[0].begin, last);
        EXPECT_EQ(found[0].chunks, last + head);
        EXPECT_TRUE(found[0].has_top);
        EXPECT_EQ(found[1].chunks, library.first_chunk(second));
        EXPECT_EQ(found[1].end, library.heap(1) + 4 * page);
        EXPECT_FALSE(found[1].has_top || found[1].main);
    }
}

TEST(Arenas, WhatIsNoArenaIsRefused) {
    const Library library(16, 48);
    Arenas arenas;
    arenas.look_in(library.data_begin(), library.data_begin() + 2000);
    EXPECT_FALSE(arenas.find()) << "it does not lie in there";
    arenas.look_in(library.data_begin(), library.data_end());
    library.link(library.main(), 0);
    EXPECT_FALSE(arenas.find()) << "no list of arenas";
    library.link(library.main(), library.heap(3) + 48);
    EXPECT_FALSE(arenas.find()) << "an arena that cannot be read";
    const uint64_t other = library.make_first_heap(0);
    library.link(library.main(), other);
    library.link(other, other);
    EXPECT_FALSE(arenas.find()) << "a list that does not come back";
    library.link(other, library.main());
    EXPECT_TRUE(arenas.find());
}

TEST(Arenas, HeapsThatChangeAreNotFollowed) {
    const Library library(16, 48);
    const uint64_t arena = library.make_first_heap(0);
    library.link(library.main(), arena);
    library.link(arena, library.main());
    Arenas arenas;
    arenas.look_in(library.data_begin(), library.data_end());
    ASSERT_TRUE(arenas.find());
    bool valid = true;
    for (const uint64_t top : {uint64_t{0}, library.heap(3), library.main(), uint64_t{7}}) {
        library.set_top(arena, top);
        EXPECT_TRUE(heaps_of(arenas, arena, valid).empty());
        EXPECT_FALSE(valid) << top;
    }
    const uint64_t last = library.make_heap(1, arena, library.heap(1));
    library.set_top(arena, last + 64);
    EXPECT_EQ(heaps_of(arenas, arena, valid).size(), 1u) << "it is its own predecessor";
    EXPECT_FALSE(valid);
    for (const uint64_t size : {uint64_t{0}, page + 8, 2 * span}) {
        Library::word(last + 16) = size;
        EXPECT_TRUE(heaps_of(arenas, arena, valid).empty()) << size;
    }
}

TEST(Arenas, ChunksInFastbinsAreFollowed) {
    for (const bool mangled : {false, true}) {
        const Library library(16, 48);
        const uint64_t arena = library.make_first_heap(0);
        library.link(library.main(), arena);
        library.link(arena, library.main());
        Arenas arenas;
        arenas.look_in(library.data_begin(), library.data_end());
        ASSERT_TRUE(arenas.find());
        const uint64_t chunk = library.first_chunk(arena);
        const auto put = [&](uint64_t at, uint64_t next) {
            Library::word(at + 8) = 48 | 1;
            Library::word(at + 16) = mangled ? (at + 16) >> 12 ^ next : next;
        };
        put(chunk, chunk + 96);
        put(chunk + 96, 0);
        library.set_fastbin(arena, 1, chunk);
        FastChunks fast;
        ASSERT_TRUE(fast.reserve(4 * page, 1));
        EXPECT_EQ(arenas.add_fast_chunks(arena, mangled, 1000, fast), 96u);
        EXPECT_TRUE(fast.contains(chunk) && fast.contains(chunk + 96));
        EXPECT_FALSE(fast.contains(chunk + 48));
        put(chunk + 96, chunk); // a list that changes may seem to have no end
        EXPECT_EQ(arenas.add_fast_chunks(arena, mangled, 1000, fast), 48000u);
        library.set_fastbin(arena, 1, chunk + 48); // not of that size
        EXPECT_EQ(arenas.add_fast_chunks(arena, mangled, 1000, fast), 0u);
        fast.clear();
    }
}

} // namespace
