#include "patch.h"

#include <cstring>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "platform.h"

namespace reap::preload {
namespace {

constexpr uintptr_t kPage = 4096;

bool protect(uintptr_t begin, uintptr_t end, int protection) noexcept {
    begin &= ~(kPage - 1);
    end = (end + kPage - 1) & ~(kPage - 1);
    return raw_call(SYS_mprotect, static_cast<long>(begin), static_cast<long>(end - begin), protection) == 0;
}

} // namespace

bool make_writable(uintptr_t begin, uintptr_t end) noexcept {
    return protect(begin, end, PROT_READ | PROT_WRITE | PROT_EXEC);
}

bool make_executable(uintptr_t begin, uintptr_t end) noexcept {
    return protect(begin, end, PROT_READ | PROT_EXEC);
}

void jump_to(void *function, const void *target) noexcept {
#if defined(__x86_64__)
    constexpr unsigned char kJump[] = {0xff, 0x25, 0, 0, 0, 0}; // jmp *0(%rip)
#elif defined(__aarch64__)
    constexpr unsigned char kJump[] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6}; // ldr x16, 8; br x16
#endif
    const auto address = reinterpret_cast<uintptr_t>(target);
    static_assert(sizeof kJump + sizeof address == kJumpBytes);
    auto *const at = static_cast<char *>(function);
    memcpy(at, kJump, sizeof kJump);
    memcpy(at + sizeof kJump, &address, sizeof address);
    __builtin___clear_cache(at, at + kJumpBytes);
}

} // namespace reap::preload
