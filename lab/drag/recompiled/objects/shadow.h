// When each eight bytes of the program were last accessed, and whether a read was among the accesses: at an
// address that follows from the program's own. And when they were accessed before that step, elsewhere. What
// is known of a block lies between, in the same line of the processor's cache: a program with much memory
// waits for these lines more than for all else.
#pragma once

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace reap::drag {

// What an access needs to know. The code that `as/as` writes into programs has this layout, and the mapping
// of slot_of(): with a change of either comes another number in the name.
struct State {
    // Of an address, what says which slot it has. Until the engine is started, and where it is off, all
    // addresses share the slots of one page, so that an access never asks.
    uintptr_t mask;
    // One step an allocation; what a write puts into a slot, and what a read does.
    uint32_t written;
    uint32_t read;

    [[nodiscard]] uint32_t clock() const noexcept { return written / 2; }
    // Other threads read it; one at a time may set it.
    void set_clock(uint32_t clock) noexcept {
        __atomic_store_n(&written, clock * 2, __ATOMIC_RELAXED);
        __atomic_store_n(&read, clock * 2 + 1, __ATOMIC_RELAXED);
    }
};
inline constexpr uint32_t kLastClock = UINT32_MAX / 2 - 1;
extern "C" __attribute__((visibility("protected"))) State reap_drag_state_2;
inline constexpr State &state = reap_drag_state_2;

// The last 44 bits of an address: what is high in the address space (libraries, stacks, large blocks) and
// what is low (the program and its heap) differ in these, too.
inline constexpr uintptr_t kShadow = 0x1000'0000'0000;
inline constexpr uintptr_t kShadowBytes = uintptr_t{1} << 44;
inline constexpr uintptr_t kAllAddresses = (kShadowBytes - 1) & ~uintptr_t{7};
inline constexpr uintptr_t kOnePage = 0xff8;
// The last access in an earlier step, four bytes for each eight: half a slot's address, and this.
inline constexpr uintptr_t kEarlier = uintptr_t{1} << 46; // not where the exact engine has its slots
// The last bits of an address and of its slot's differ: loads and stores of addresses that agree in these
// take each other for the same, and contend for the same few places of the cache.
inline constexpr uintptr_t kSkew = 0x840;

// Maps the one page; false where the machine refuses, and then nothing may be marked.
bool map_shadow() noexcept;
// From here on each address has a slot of its own; false where there is no room for so many addresses.
bool open_shadow() noexcept;
// The slots of these addresses are likely to be used, nearly all: large pages, where the machine has them,
// save the processor the search for many small ones, which costs a program with much memory a tenth of its
// time.
void expect_dense(uintptr_t address, uintptr_t size) noexcept;

// Clock and, in the last bit, whether there was a read.
struct Slot {
    uint32_t last;
    uint32_t block; // see blocks.h
};

inline Slot *slot_of(uintptr_t address) noexcept {
    return reinterpret_cast<Slot *>(kShadow + kSkew + (address & state.mask));
}

inline uint32_t *earlier_of(const Slot *slot) noexcept {
    return reinterpret_cast<uint32_t *>(reinterpret_cast<uintptr_t>(slot) / 2 + kEarlier);
}

// `clock` is what a write or a read puts into a slot. Threads may mark the same one: the last of them is as
// good as any. A read at the very moment of another thread's write may be lost.
inline void mark_slot(Slot &slot, uint32_t clock) noexcept {
    const uint32_t last = __atomic_load_n(&slot.last, __ATOMIC_RELAXED);
    if (last >= clock) return;
    __atomic_store_n(&slot.last, clock | (last & 1), __ATOMIC_RELAXED);
    if (last > 1 && (last | 1) != clock) __atomic_store_n(earlier_of(&slot), last, __ATOMIC_RELAXED);
}
inline void mark_written(uintptr_t address) noexcept {
    mark_slot(*slot_of(address), __atomic_load_n(&state.written, __ATOMIC_RELAXED));
}
inline void mark_read(uintptr_t address) noexcept {
    mark_slot(*slot_of(address), __atomic_load_n(&state.read, __ATOMIC_RELAXED));
}

// For many reads at one moment: what each would ask the state for.
class Reads {
  public:
    void mark(const void *at) const noexcept {
        const uintptr_t address = reinterpret_cast<uintptr_t>(at) & mask_;
        mark_slot(*reinterpret_cast<Slot *>(kShadow + kSkew + address), clock_);
    }

  private:
    uintptr_t mask_ = state.mask;
    uint32_t clock_ = __atomic_load_n(&state.read, __ATOMIC_RELAXED);
};

// Calls with each slot of a range. They are one behind another, but for around the end of the shadow. (And
// where all addresses share a page; nobody reads what is marked there.)
template <class Function>
inline void each_slot(uintptr_t address, size_t size, Function function) noexcept {
    const uintptr_t mask = state.mask;
    uintptr_t at = address & mask;
    const uintptr_t last = (address + size - 1) & mask;
    if (preload::unlikely(last < at)) {
        for (uintptr_t one = address & ~uintptr_t{7}; one < address + size; one += 8) function(*slot_of(one));
        return;
    }
    for (; at <= last; at += 8) function(*reinterpret_cast<Slot *>(kShadow + kSkew + at));
}

// A range; costs a store for each eight bytes.
template <void mark(uintptr_t)>
inline void mark_range(const void *from, size_t size) noexcept {
    if (size == 0) return;
    constexpr bool kReads = mark == mark_read;
    const uint32_t clock = __atomic_load_n(kReads ? &state.read : &state.written, __ATOMIC_RELAXED);
    each_slot(reinterpret_cast<uintptr_t>(from), size, [clock](Slot &slot) { mark_slot(slot, clock); });
}

struct Use {
    uint32_t last;    // clock of the last access, or the birth if there was none
    uint32_t earlier; // of the last one before this step
    uint32_t flags;   // of enum reap_drag_object; of what was read and written, REAP_DRAG_READ at least
};
// What was done with these bytes since `birth`.
Use use_of(uintptr_t address, size_t size, uint32_t birth) noexcept;
// What comes to be in these bytes was not read yet.
void forget_reads(uintptr_t address, size_t size) noexcept;
// A block's end. Its slots are as new: what was there before is nothing to keep for the next, which spares
// the processor a line for each.
Use last_use_of(uintptr_t address, size_t size, uint32_t birth) noexcept;

} // namespace reap::drag
