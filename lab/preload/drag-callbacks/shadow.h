// When each eight bytes of the program were last written and last read: two clocks beside each other, at an
// address that follows from the program's own.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::drag {

// What an access needs to know. The code that `as/as` writes into programs has this layout, and the mapping
// of slot_of(): with a change of either comes another number in the name.
struct State {
    // Of an address, what says which slot it has. Until the engine is started, and where it is off, all
    // addresses share the slots of one page, so that an access never asks.
    uintptr_t mask;
    uint32_t clock; // one step an allocation
};
extern "C" __attribute__((visibility("protected"))) State reap_drag_state_1;
inline constexpr State &state = reap_drag_state_1;

// The last 44 bits of an address: what is high in the address space (libraries, stacks, large blocks) and
// what is low (the program and its heap) differ in these, too.
inline constexpr uintptr_t kShadow = 0x1000'0000'0000;
inline constexpr uintptr_t kShadowBytes = uintptr_t{1} << 44;
inline constexpr uintptr_t kAllAddresses = (kShadowBytes - 1) & ~uintptr_t{7};
inline constexpr uintptr_t kOnePage = 0xff8;

// Maps the one page; false where the machine refuses, and then nothing may be marked.
bool map_shadow() noexcept;
// From here on each address has a slot of its own; false where there is no room for so many addresses.
bool open_shadow() noexcept;

inline uint32_t *slot_of(uintptr_t address) noexcept {
    return reinterpret_cast<uint32_t *>(kShadow + (address & state.mask));
}

// Threads may mark the same slot: the last of them is as good as any.
inline void mark_written(uintptr_t address) noexcept {
    __atomic_store_n(slot_of(address), __atomic_load_n(&state.clock, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}
inline void mark_read(uintptr_t address) noexcept {
    __atomic_store_n(slot_of(address) + 1, __atomic_load_n(&state.clock, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

// A range; costs a store for each eight bytes.
template <void mark(uintptr_t)>
inline void mark_range(const void *from, size_t size) noexcept {
    const auto first = reinterpret_cast<uintptr_t>(from);
    if (size == 0) return;
    for (uintptr_t at = first & ~uintptr_t{7}; at < first + size; at += 8) mark(at);
}

struct Use {
    uint32_t last;  // clock of the last access, or the birth if there was none
    uint32_t flags; // of enum reap_drag_object
};
// What was done with these bytes since `birth`.
Use use_of(uintptr_t address, size_t size, uint32_t birth) noexcept;

} // namespace reap::drag
