// A recording boiled down, in one pass over its events in time order.
//
// Memory is bounded by the blocks in use at any one moment of the recorded program, the number of distinct
// stacks, and one block of the file for each thread that is alive.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "totals/counted.h"
#include "totals/statistics.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

// What came from one stack of one image. In triage everything is an estimate.
struct SiteTotals {
    double objects = 0;
    double bytes = 0;
    double temporary = 0; // freed before the same thread allocated again
    double live_bytes = 0;
    double at_peak = 0; // live bytes when the whole tree used most
    double at_exit = 0; // bytes that its process had not freed when it ended
    uint64_t epoch = 0; // the peak that `at_peak` belongs to
};

// Variances of the estimates of a site, in triage, and what was sampled of it.
struct SiteVariance {
    double objects = 0;
    double bytes = 0;
    double seen_objects = 0;
    double seen_bytes = 0;
    double seen_temporary = 0;
};

// Factors for the part of a weight that exceeds 1, so that sums over samples add up to the counters. A sample
// itself is certain, and so is what is nearly always sampled, as large blocks are.
struct Scale {
    double objects = 1;
    double bytes = 1;

    [[nodiscard]] double of_objects(double weight) const noexcept { return sum(weight, 1, objects); }
    [[nodiscard]] double of_bytes(double weight) const noexcept { return sum(weight, 1, bytes); }
    // A sum of weights, `seen` without them.
    static double sum(double weights, double seen, double factor) noexcept {
        return seen + (weights - seen) * factor;
    }
    // The factor that makes the sum `counted`, or comes as near as chance explains: blocks of which none was
    // sampled are not to be charged to others.
    static double factor(double weights, double seen, double counted, double variance) noexcept;
};

// Allocations by their size: one by one below REAP_EXACT_SIZES, else in bins.
struct BySize {
    std::vector<uint64_t> exact = std::vector<uint64_t>(REAP_EXACT_SIZES);
    std::vector<uint64_t> large_objects = std::vector<uint64_t>(REAP_LARGE_BINS);
    std::vector<uint64_t> large_bytes = std::vector<uint64_t>(REAP_LARGE_BINS);

    void add(const reap_counts &counts);
    void add(const BySize &other);
    [[nodiscard]] uint64_t objects() const noexcept;
    [[nodiscard]] uint64_t bytes() const noexcept;
};

// Blocks of one size, or of one bin of large sizes: in use now, and when the tree had most blocks in use.
struct SizeInUse {
    uint64_t objects = 0;
    uint64_t bytes = 0;
    uint64_t peak_objects = 0;
    uint64_t peak_bytes = 0;
    uint64_t epoch = 0; // the peak that the last two belong to
};

// What the marked requests of one phase allocated, over the whole tree.
struct RequestTotals {
    std::string phase;
    uint64_t count = 0;
    uint64_t allocations = 0;
    uint64_t bytes = 0;
    uint64_t most_allocations = 0;
    uint64_t most_bytes = 0;
    std::vector<uint64_t> by_allocations = std::vector<uint64_t>(REAP_REQUEST_BINS);
    std::vector<uint64_t> by_bytes = std::vector<uint64_t>(REAP_REQUEST_BINS);

    void add(const RequestTotals &other);
};

// The number that a share of the requests does not exceed, by nearest rank: exact below REAP_REQUEST_EXACT,
// then within 0.8 %, and never above `most`. 0 when empty.
uint64_t request_quantile(const std::vector<uint64_t> &bins, uint64_t most, double share);

struct ImageTotals {
    uint32_t image = 0;
    uint32_t threads = 0; // most that recorded at once: one that begins takes the place of one that has ended
    uint64_t objects = 0;
    uint64_t bytes = 0;
    uint64_t frees = 0;
    InUse use;
    MostInUse most;
    Counted counted;
    std::vector<SiteTotals> sites;       // by frame id
    std::vector<SiteVariance> variances; // the same, of those that were sampled
};

// Sampled blocks that were freed, weighted, and those of them that another thread freed.
struct Returned {
    double weight = 0;
    double weight_squares = 0; // for the interval of the share
    double by_other_thread = 0;

    void add(double of_block, bool other_thread) noexcept {
        weight += of_block;
        weight_squares += of_block * of_block;
        by_other_thread += other_thread ? of_block : 0;
    }
};

inline constexpr size_t kLifetimeBins = 48; // bin k: 2^k to 2^(k+1) ns; bin 0 from 0

struct Summary {
    uint32_t depth = 0;
    double ticks_per_second = 0;
    uint64_t start_ticks = 0;
    uint64_t last_ticks = 0;
    uint64_t events = 0;
    uint64_t samples = 0;
    Scale scale; // 1 in full depth

    std::vector<ImageTotals> images;
    InUse tree;
    MostInUse most;
    Counted counted;
    BySize by_size;
    // The same places, exact sizes before bins; in full depth alone.
    std::vector<SizeInUse> sizes_in_use = std::vector<SizeInUse>(REAP_EXACT_SIZES + REAP_LARGE_BINS);
    std::array<uint64_t, REAP_CALLS> calls{};
    uint64_t frees = 0;
    uint64_t failures = 0;
    uint64_t skipped = 0;
    uint64_t unmatched_frees = 0; // of blocks that the recording never saw allocated

    // Lifetimes of objects, weighted; those never freed apart.
    std::array<double, kLifetimeBins> lifetime_objects{};
    std::array<double, kLifetimeBins> lifetime_bytes{};
    double immortal_objects = 0;
    double immortal_bytes = 0;

    double weight = 0;         // of all objects seen: their number in full depth, its estimate in triage
    double weight_squares = 0; // for the interval of what is estimated from them
    double temporary = 0;
    Returned returned; // sampled blocks that were freed; nothing in full depth

    Timeline live{0, 1};
    std::vector<RequestTotals> requests;       // a phase each, in the order of their first requests
    std::map<uint8_t, LogHistogram> latencies; // by enum reap_call, in nanoseconds
};

// Reads everything. Damage is counted in `file`.
Summary aggregate(BlockFile &file, const Definitions &definitions);

} // namespace reap::native
