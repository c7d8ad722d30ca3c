// The resident file: what the allocator of a process says of its memory now. See reap_resident.h.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "reap_resident.h"

namespace reap::native {

struct ResidentAnswer {
    std::string kind;     // `glibc`, `jemalloc`, `tcmalloc`, `mimalloc`; empty for one that cannot be asked
    std::string provider; // the file that serves malloc
    uint64_t stamp = 0;   // when, in nanoseconds of the monotonic clock; 0: it was not asked yet
    bool stopped = false; // it is not asked any more
    std::map<std::string, uint64_t> values;     // by name; what it would not say is missing
    std::optional<reap_resident_walk> walk;     // none where the heap was not walked
    std::optional<reap_resident_walk> others;   // none where the arenas were not found
    std::optional<reap_resident_around> around; // there where `others` is
};

// None where there is no such file, or a damaged one, or one that is being written all the time. Never throws
// for what is in the file.
std::optional<ResidentAnswer> read_resident(const std::string &path);

} // namespace reap::native
