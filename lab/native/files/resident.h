// The resident file: what the allocator of a process says of its memory now. See reap_resident.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reap_resident.h"

namespace reap::native {

// Statistics of an allocator that is linked into a file of the program.
struct LinkedAnswer {
    std::string kind;
    uint64_t function = 0; // the address at which it was asked
    std::map<std::string, uint64_t> values;
};

struct ResidentAnswer {
    std::string
        kind; // `glibc`, `jemalloc`, `tcmalloc`, `mimalloc`, `snmalloc`; empty for one that cannot be asked
    std::string provider;  // the file that serves malloc
    uint64_t function = 0; // the address by which it is asked
    uint64_t stamp = 0;    // when, in nanoseconds of the monotonic clock; 0: it was not asked yet
    bool stopped = false;  // it is not asked any more
    std::map<std::string, uint64_t> values;     // by name; what it would not say is missing
    std::optional<reap_resident_walk> walk;     // none where the heap was not walked
    std::optional<reap_resident_walk> others;   // none where the arenas were not found
    std::optional<reap_resident_around> around; // there where `others` is
    std::vector<LinkedAnswer> linked;
    uint64_t token = 0; // for `request_resident`; 0: nothing may be requested now
};

// None where there is no such file, or a damaged one, or one that is being written all the time. Never throws
// for what is in the file.
std::optional<ResidentAnswer> read_resident(const std::string &path);

// Has the process call these functions from now on: pairs of a kind, as above, and an address. The token is
// of an answer that was read before the addresses were looked up. At most REAP_RESIDENT_LINKED are taken.
// False where there is no such file, or a damaged one.
bool request_resident(const std::string &path, uint64_t token,
                      const std::vector<std::pair<std::string, uint64_t>> &functions);

} // namespace reap::native
