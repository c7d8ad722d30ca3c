// Walks glibc's heaps in another process, from outside: nothing is loaded into it, and it is not stopped.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "reap_resident.h"

namespace reap::native {

// Places to look at in a process; all that is an address is its.
struct HeapPlaces {
    unsigned minor = 0;      // of its C library, glibc 2.`minor`
    uint64_t data_begin = 0; // of that library's writable data
    uint64_t data_end = 0;
    uint64_t first_break = 0;                            // the program break at its start
    uint64_t resident = 0;                               // bytes; no more than some times that is read
    std::vector<std::pair<uint64_t, uint64_t>> mappings; // anonymous ones, where blocks may have one each
};

struct ProcessHeaps {
    reap_resident_walk main{};
    std::optional<reap_resident_walk> others;   // none where the arenas were not found
    std::optional<reap_resident_around> around; // there where `others` is
    uint64_t system_bytes = 0;                  // that all arenas have from the kernel
    std::optional<uint64_t> mapped_bytes;       // of blocks with a mapping each, by glibc's own count
};

// None where the process may not be read, has ended, has a main heap that is swapped out in part or is not
// glibc's, changed it in each of three walks, or has lists that do not end. One walk at a time. About 0.5 us
// a resident page of the heaps and of the mappings.
std::optional<ProcessHeaps> walk_heaps(pid_t process, const HeapPlaces &places);

} // namespace reap::native
