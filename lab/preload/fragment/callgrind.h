// Starts or stops callgrind's instrumentation if the process runs under callgrind. Otherwise it has no effect
// and costs a few nanoseconds: the instruction sequence cancels out, and no compiler emits it.
//
// These are Valgrind client requests (Valgrind manual, 3.1).
#pragma once

#include <cstdint>

namespace reap::preload {

enum class CallgrindRequest : uint64_t {
    Start = (uint64_t{'C'} << 24) + (uint64_t{'T'} << 16) + 4, // CALLGRIND_START_INSTRUMENTATION
    Stop = (uint64_t{'C'} << 24) + (uint64_t{'T'} << 16) + 5   // CALLGRIND_STOP_INSTRUMENTATION
};

inline void ask_callgrind([[maybe_unused]] CallgrindRequest request) noexcept {
#if defined(__x86_64__)
    const volatile uint64_t words[6] = {static_cast<uint64_t>(request), 0, 0, 0, 0, 0};
    uint64_t answer = 0; // NOLINT(misc-const-correctness): the instructions below write it
    // Rotations by 128 bits in total, then an exchange of a register with itself.
    asm volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
                 "xchgq %%rbx, %%rbx"
                 : "+d"(answer)
                 : "a"(&words[0])
                 : "cc", "memory");
#endif
}

} // namespace reap::preload
