// Rights that a process gives up, for good, before it parses what may be hostile.
#pragma once

#include <cstddef>
#include <cstdint>

namespace reap::native {

// Rights that it gave up. Not all kernels and containers let it.
struct Confinement {
    bool unprivileged = false; // it is neither root nor has a capability
    bool filtered = false;     // it is left the system calls of `confine.cpp` alone
};

// Calls made elsewhere for a confined process. Each calls no malloc and throws nothing.
struct Elsewhere {
    int (*open)(const char *path);          // returns -1 with errno
    const char *(*path_of)(int descriptor); // the path that it was opened by; null: not known
};

// For a child that has just been forked, of one thread. It keeps the descriptor `socket` as number 3 alone,
// none of the memory that it shared with others to write to, no signal handler, no terminal. Where it was
// root it is nobody. It gets memory for what it is, and `memory` bytes; ten minutes of CPU time; may write no
// file, and has `elsewhere` do what libraries try with open() and realpath("/proc/self/fd/N").
Confinement confine(int socket, uint64_t memory, Elsewhere elsewhere);

constexpr int kConfinedSocket = 3;
constexpr int kMostFiles = 4096; // a program of split DWARF has a file for each unit
constexpr int kNoSocket = 5;     // what it exits with where it has no place for its socket

// Lets a confined process take so many more bytes of memory.
void allow_memory(uint64_t more);

// Whether a tool watches this process that a confined one would not let do its work: a sanitizer, Valgrind,
// or what counts the lines that ran.
bool is_watched() noexcept;

} // namespace reap::native
