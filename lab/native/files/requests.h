// The file of request times: made before a program starts, and read when it has ended. See reap_requests.h.
#pragma once

#include <cstdint>
#include <string>

namespace reap::native {

// How long marked requests took. Percentiles are those of the requests themselves, by nearest rank.
struct RequestTimes {
    uint64_t count = 0;    // requests that began and ended
    double per_second = 0; // from the begin of the first to the end of the last
    uint64_t p50_ns = 0;   // 0 without requests, as the next
    uint64_t p99_ns = 0;
    uint64_t p999_ns = 0;
    uint64_t max_ns = 0;
    uint64_t unfinished = 0; // threads that were in a request when they, or their process, ended
    uint64_t unmatched = 0;  // ends without a begin
    uint64_t lost = 0;       // requests without room
};

// Makes the file for one run. Throws std::system_error.
void create_requests(const std::string &path);

// Reads the file once; takes eight bytes of memory a request. Blocks that are damaged, or reserved and never
// used, are passed over; a file that is none has no requests. Throws std::system_error when it cannot be read
// and BadTrace when it is not a regular file.
RequestTimes read_requests(const std::string &path);

} // namespace reap::native
