// The blocks in use, by address: the one structure that every event touches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace reap::native {

// A block in use.
struct Live {
    uint64_t size;
    uint64_t birth; // ticks
    uint32_t clock; // the allocating thread's count of allocations (of bytes in triage), its low 32 bits
    uint32_t stack;
    uint32_t thread;
    float weight; // how many blocks of the program it stands for
};

// Gives memory back that came straight from the system.
struct Unmap {
    size_t bytes = 0;
    void operator()(uint64_t *memory) const noexcept { ::munmap(memory, bytes); }
};

// Linear probing over keys that lie apart from their values. What is special is the hash: blocks within the
// same 128 bytes of the program fall onto one cache line of keys, so that neighbours are found together.
// (Wider neighbourhoods probe far too long: they fill whole stretches.) A block that is freed leaves a mark,
// because its address comes back soon; marks go when the table is laid anew. 40 bytes a place, at most half
// in use or marked. Large tables ask for huge pages, since every look-up in them is otherwise a miss of the
// TLB as well.
class LiveTable {
  public:
    // Addresses below this cannot be keys.
    static constexpr uint64_t kLowest = 16;

    [[nodiscard]] size_t size() const noexcept { return size_; }
    // Memory that it holds.
    [[nodiscard]] size_t bytes() const noexcept { return capacity() * (sizeof(uint64_t) + sizeof(Live)); }

    // The block at `address`; null if there is none. Valid until the next change.
    Live *find(uint64_t address) noexcept {
        if (size_ == 0 || address < kLowest) return nullptr;
        for (size_t at = home(address);; at = (at + 1) & mask_) {
            if (keys_[at] == address) return &values()[at];
            if (keys_[at] == kEmpty) return nullptr;
        }
    }

    struct Added {
        Live &block;
        bool fresh; // whether there was none at this address
    };

    // The place for a block at `address` (at least kLowest).
    Added add(uint64_t address) {
        if ((filled_ + 1) * 2 > capacity()) lay_anew();
        size_t place = SIZE_MAX;
        size_t at = home(address);
        for (; keys_[at] != kEmpty; at = (at + 1) & mask_) {
            if (keys_[at] == address) return {values()[at], false};
            if (keys_[at] == kGone && place == SIZE_MAX) place = at;
        }
        if (place == SIZE_MAX) {
            place = at;
            ++filled_;
        }
        keys_[place] = address;
        ++size_;
        return {values()[place], true};
    }

    // Takes out what `find` gave.
    void remove(const Live *block) noexcept {
        const auto at = static_cast<size_t>(block - values());
        const bool last = keys_[(at + 1) & mask_] == kEmpty; // nobody probes past this place
        keys_[at] = last ? kEmpty : kGone;
        filled_ -= last ? 1 : 0;
        --size_;
    }

    // Always inline: out of line, g++ takes a function that only prefetches for one without effect, and drops
    // it.
    [[gnu::always_inline]] void prefetch(uint64_t address) const noexcept {
        if (size_ == 0) return;
        const size_t at = home(address);
        __builtin_prefetch(&keys_[at]);
        __builtin_prefetch(&values()[at]);
    }

    template <class Visit>
    void each(Visit visit) const {
        for (size_t at = 0; at < capacity(); ++at) {
            if (keys_[at] >= kLowest) visit(keys_[at], values()[at]);
        }
    }

    void clear() noexcept { *this = LiveTable(); }

  private:
    static constexpr uint64_t kEmpty = 0;
    static constexpr uint64_t kGone = 1;

    [[nodiscard]] size_t capacity() const noexcept { return keys_ == nullptr ? 0 : mask_ + 1; }
    [[nodiscard]] Live *values() const noexcept { return reinterpret_cast<Live *>(keys_.get() + capacity()); }

    [[nodiscard]] size_t home(uint64_t address) const noexcept {
        const uint64_t line = (address >> 7) * UINT64_C(0x9e3779b97f4a7c15) >> 20;
        return static_cast<size_t>(line << 3 | (address >> 4 & 7)) & mask_;
    }

    // Twice as large if it is really full, the same size if it is full of marks.
    [[gnu::noinline]] void lay_anew() {
        size_t places = capacity() == 0 ? 1024 : capacity();
        if (size_ * 4 > places) places *= 2;
        const size_t bytes = places * (sizeof(uint64_t) + sizeof(Live));
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        ::madvise(memory, bytes, MADV_HUGEPAGE);
        LiveTable fresh;
        fresh.keys_ = {static_cast<uint64_t *>(memory), Unmap{bytes}};
        fresh.mask_ = places - 1;
        each([&fresh](uint64_t address, const Live &live) { fresh.add(address).block = live; });
        *this = std::move(fresh);
    }

    std::unique_ptr<uint64_t[], Unmap> keys_; // the values lie behind them
    size_t mask_ = 0;
    size_t size_ = 0;
    size_t filled_ = 0; // places that are not empty
};

} // namespace reap::native
