// Making a trace, and closing it when the recorded tree has ended.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reap_trace.h"

namespace reap::native {

// How reap record, and the kit as well, choose them.
inline constexpr uint32_t kPerfPeriodUs = 1000;
inline constexpr uint32_t kTimerPeriodUs = 4000; // the kernel's own tick is no finer
inline constexpr uint64_t kExactEvents = 2'000'000;

struct TraceOptions {
    uint32_t depth = REAP_DEPTH_TRIAGE;
    uint32_t clock = REAP_CLOCK_MONOTONIC_NS;
    uint32_t sampler = REAP_SAMPLER_NONE;
    uint32_t sampler_period_us = 1000;
    uint64_t period_bytes = 0; // mean gap between sampled allocations; 0: steered
    bool stamp_all = false;    // where the time of each event matters, and not only their order
    bool native_only = false;  // leave Python functions out of stacks
    uint32_t max_blocks = 0;   // no events behind so many blocks; 0: no limit
    uint64_t exact_events = 0; // triage writes about so many events, too; 0: none
    std::vector<std::pair<std::string, std::string>> labels; // without zero bytes
};

// Creates an empty trace, private to the user; the file must not exist. Throws std::system_error, and
// std::length_error where the labels are longer than 60 KB together.
// Takes 20 ms where the clock has to be calibrated.
void create_trace(const std::string &path, const TraceOptions &options);

// Which part of the run is recorded.
struct PartOptions {
    std::string start_phase;   // it begins when a process enters this phase; empty: with none
    uint32_t start_signal = 0; // or when the launcher gets this signal; 0: with none
    std::string stop_phase;
    uint32_t stop_signal = 0;
    double ring_seconds = 0;  // the last of it are kept; 0: all
    uint32_t ring_blocks = 0; // about so many blocks are kept; 0: all
};

// Has an empty trace take a part of the run alone. Throws std::system_error (with EOPNOTSUPP where the file
// system cannot give the space of old blocks back), and BadTrace.
void set_part(const std::string &path, const PartOptions &options);

// Seals the blocks of processes that are gone and writes the moment of the end. Blocks of processes that
// still run stay open; how many there were is returned. `running`: a process runs that has none yet. Throws
// std::system_error, or BadTrace when it is no trace.
uint64_t finish_trace(const std::string &path, bool running = false);

// REAP_CLOCK_TSC where the kernel trusts the counter (8 ns a stamp), else REAP_CLOCK_MONOTONIC_NS (20 ns).
uint32_t choose_clock();

// Ticks of `clock` now.
uint64_t ticks_now(uint32_t clock);

// Nanoseconds that lie between two readings of `clock` one after another, at least. Takes 20 ms.
double clock_cost(uint32_t clock);

} // namespace reap::native
