// The blocks in use, by address: the one structure that every event touches.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <utility>

#include <sys/mman.h>

namespace reap::native {

// A block in use of a recording in full depth.
struct Live {
    uint64_t size;
    uint64_t birth;   // ticks
    uint32_t ordinal; // its number among the allocations of its process, the low 32 bits
    uint32_t stack;
    static constexpr float weight = 1;
};

// A sampled block in use.
struct SampledLive {
    uint64_t size;
    uint64_t birth; // ticks
    uint32_t clock; // the bytes that the allocating thread had allocated by then, the low 32 bits
    uint32_t stack;
    uint32_t thread;
    float weight; // how many blocks of the program it stands for
};

// Gives memory back that came straight from the system.
struct Unmap {
    size_t bytes = 0;
    void operator()(uint8_t *memory) const noexcept { ::munmap(memory, bytes); }
};

// Groups of eight places. A control byte for each place says whether it is empty or holds a block, and then
// seven bits of the block's hash; those of a group are compared at once. So a look-up has next to no branch
// that cannot be predicted, and touches one place alone (a Live and its address are half a cache line).
// Blocks within the same 128 bytes of the program belong to the same group, so that neighbours are found
// together, and each to the place that its address says, if that is free, so that `prefetch` knows where it
// is. (Wider neighbourhoods fill whole stretches.) What a full group has no place for is in the next one. A
// block that is freed leaves a mark only in a group that is full, as else no probe has passed over it; marks
// go when the table is rebuilt. At most two thirds of the places are in use or marked. Large tables ask for
// huge pages, since every look-up in them is otherwise a miss of the TLB as well.
template <class Value>
class LiveTable {
  public:
    // Addresses below this cannot be keys.
    static constexpr uint64_t kLowest = 16;

    [[nodiscard]] size_t size() const noexcept { return size_; }
    // Memory that it holds.
    [[nodiscard]] size_t bytes() const noexcept { return capacity() == 0 ? 0 : bytes_for(capacity()); }

    // The block at `address`; null if there is none. Valid until the next change.
    Value *find(uint64_t address) noexcept {
        if (size_ == 0 || address < kLowest) return nullptr;
        const uint64_t hash = hash_of(address);
        for (size_t group = home(hash);; group = (group + kGroup) & mask_) {
            const uint64_t control = controls(group);
            for (uint64_t same = match(control, tag(hash)); same != 0; same &= same - 1) {
                Slot &slot = slots_[group + first(same)];
                if (slot.address == address) [[likely]]
                    return &slot.value;
            }
            if (empties(control) != 0) return nullptr;
        }
    }

    struct Added {
        Value &block;
        bool fresh; // whether there was none at this address
    };

    // The place for a block at `address` (at least kLowest).
    Added add(uint64_t address) {
        if (filled_ >= most_) [[unlikely]]
            lay_anew();
        const uint64_t hash = hash_of(address);
        const uint8_t tag = LiveTable::tag(hash);
        size_t place = SIZE_MAX;
        for (size_t group = home(hash);; group = (group + kGroup) & mask_) {
            const uint64_t control = controls(group);
            for (uint64_t same = match(control, tag); same != 0; same &= same - 1) {
                Slot &slot = slots_[group + first(same)];
                if (slot.address == address) return {slot.value, false};
            }
            if (place == SIZE_MAX && (~control & kHigh) != 0) place = group + first_free(control, address);
            if (empties(control) != 0) [[likely]]
                break;
        }
        filled_ += controls_[place] == kEmpty ? 1 : 0;
        controls_[place] = tag;
        ++size_;
        slots_[place].address = address;
        return {slots_[place].value, true};
    }

    // Takes out what `find` gave.
    void remove(const Value *block) noexcept {
        const auto offset = reinterpret_cast<const uint8_t *>(block) - offsetof(Slot, value) -
                            reinterpret_cast<const uint8_t *>(slots_);
        const size_t at = static_cast<size_t>(offset) / sizeof(Slot);
        const bool full = empties(controls(at & ~(kGroup - 1))) == 0; // others may be behind it
        controls_[at] = full ? kGone : kEmpty;
        filled_ -= full ? 0 : 1;
        --size_;
    }

    // Whether it is worth while to fetch memory ahead of look-ups: it does not fit into the caches.
    [[nodiscard]] bool large() const noexcept { return mask_ >= kLarge; }

    // Fetches what says where a block is, or would be. Always inline: out of line, g++ takes a function that
    // only prefetches for one without effect, and drops it.
    [[gnu::always_inline]] void prefetch(uint64_t address) const noexcept {
        __builtin_prefetch(controls_ + home(hash_of(address)));
    }
    // Some look-ups later: fetches the place itself, for a block to be found or to be added.
    [[gnu::always_inline]] void prefetch_place(uint64_t address, bool known) const noexcept {
        const uint64_t hash = hash_of(address);
        const size_t group = home(hash);
        const uint64_t control = controls(group);
        const size_t found = first(match(control, tag(hash)));
        __builtin_prefetch(slots_ + group + (known ? found : first_free(control, address)));
    }

    template <class Visit>
    void each(Visit visit) const {
        for (size_t at = 0; at < capacity(); ++at) {
            if ((controls_[at] & kFull) != 0) visit(slots_[at].address, slots_[at].value);
        }
    }

    void clear() noexcept { *this = LiveTable(); }

  private:
    struct Slot {
        uint64_t address;
        Value value;
    };

    static constexpr size_t kGroup = 8;
    static constexpr size_t kLeast = 128;  // places
    static constexpr size_t kLarge = 8192; // 270 KB of them
    // Control bytes. A new mapping has zeros.
    static constexpr uint8_t kEmpty = 0;
    static constexpr uint8_t kGone = 2;
    static constexpr uint8_t kFull = 0x80; // and seven bits of the hash
    static constexpr uint64_t kHigh = UINT64_C(0x8080808080808080);
    static constexpr uint64_t kOnes = UINT64_C(0x0101010101010101);

    [[nodiscard]] size_t capacity() const noexcept { return controls_ == nullptr ? 0 : mask_ + 1; }
    // The control bytes lie in front of the places.
    static constexpr size_t bytes_for(size_t places) noexcept { return places * (1 + sizeof(Slot)); }

    static uint64_t hash_of(uint64_t address) noexcept {
        return (address >> 7) * UINT64_C(0x9e3779b97f4a7c15) + (address >> 4 << 57);
    }
    // The first place of the group.
    [[nodiscard]] size_t home(uint64_t hash) const noexcept {
        return static_cast<size_t>(hash >> 20) & mask_ & ~(kGroup - 1);
    }
    // Differs between neighbours.
    static uint8_t tag(uint64_t hash) noexcept { return static_cast<uint8_t>(kFull | hash >> 57); }
    // The place in a group that a block takes if it is free.
    static size_t wanted(uint64_t address) noexcept { return address >> 4 & (kGroup - 1); }

    [[nodiscard]] uint64_t controls(size_t group) const noexcept {
        uint64_t control;
        std::memcpy(&control, controls_ + group, sizeof control);
        return control;
    }
    // Marks each byte that equals `tag`, and perhaps others behind the first of them.
    static uint64_t match(uint64_t control, uint8_t tag) noexcept {
        const uint64_t differs = control ^ kOnes * tag;
        return (differs - kOnes) & ~differs & kHigh;
    }
    static uint64_t empties(uint64_t control) noexcept { return ~control & ~(control << 6) & kHigh; }
    static size_t first(uint64_t marks) noexcept { return static_cast<size_t>(std::countr_zero(marks)) / 8; }
    // The first place that is free, from the wanted one on.
    static size_t first_free(uint64_t control, uint64_t address) noexcept {
        const size_t from = wanted(address);
        return (from + first(std::rotr(~control & kHigh, static_cast<int>(from * 8)))) & (kGroup - 1);
    }

    // Twice as large if it is really full, the same size if it is full of marks.
    [[gnu::noinline]] void lay_anew() {
        size_t places = capacity() == 0 ? kLeast : capacity();
        if (size_ * 3 > places) places *= 2;
        const size_t bytes = bytes_for(places);
        void *memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        ::madvise(memory, bytes, MADV_HUGEPAGE);
        LiveTable fresh;
        fresh.memory_ = {static_cast<uint8_t *>(memory), Unmap{bytes}};
        fresh.controls_ = fresh.memory_.get();
        fresh.slots_ = reinterpret_cast<Slot *>(fresh.controls_ + places);
        fresh.mask_ = places - 1;
        fresh.most_ = places / 3 * 2;
        each([&fresh](uint64_t address, const Value &live) { fresh.add(address).block = live; });
        *this = std::move(fresh);
    }

    std::unique_ptr<uint8_t[], Unmap> memory_;
    uint8_t *controls_ = nullptr;
    Slot *slots_ = nullptr;
    size_t mask_ = 0;
    size_t size_ = 0;
    size_t filled_ = 0; // places that are not empty
    size_t most_ = 0;   // and how many of them may be
};

} // namespace reap::native
