// Has a function of the program go on in another one from its first instruction.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::preload {

// Bytes of a function that `jump_to` overwrites.
#if defined(__x86_64__)
inline constexpr size_t kJumpBytes = 14;
#elif defined(__aarch64__)
inline constexpr size_t kJumpBytes = 16;
#endif

// Lets the pages of [begin, end) be written, or restores them to what only executes; false if the system
// refuses.
bool make_writable(uintptr_t begin, uintptr_t end) noexcept;
bool make_executable(uintptr_t begin, uintptr_t end) noexcept;

// Overwrites the begin of `function`, in pages that may be written, by a jump to `target`. No thread may be
// inside of it.
void jump_to(void *function, const void *target) noexcept;

} // namespace reap::preload
