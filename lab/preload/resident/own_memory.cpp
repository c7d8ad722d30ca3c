#include "own_memory.h"

#include <cstring>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform.h"
#include "walked_memory.h"

namespace reap::glibc {

bool read_memory(uint64_t address, void *to, size_t bytes) noexcept {
    const iovec here{to, bytes};
    const iovec from{reinterpret_cast<void *>(address), bytes};
    const long read = syscall(SYS_process_vm_readv, getpid(), &here, 1L, &from, 1L, 0L);
    return read == static_cast<long>(bytes);
}

bool find_resident(uint64_t begin, uint64_t pages, unsigned char *there) noexcept {
    return syscall(SYS_mincore, begin, pages * page, there) == 0;
}

uint64_t current_break() noexcept { return static_cast<uint64_t>(syscall(SYS_brk, 0)); }

} // namespace reap::glibc

namespace reap::preload {

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
