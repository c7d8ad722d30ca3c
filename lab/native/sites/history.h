// How sites use memory over time: what stays in use, and blocks that replace slightly smaller ones.
//
// Memory is bounded by the blocks in use at once, the sites times the slices, and the sites times the
// threads.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "totals/aggregate.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

// A stack, and the site that it belongs to.
struct SiteStack {
    uint32_t image;
    uint32_t stack;
    uint32_t site;
};

struct SiteHistory {
    // By slice, in bytes: the least in use at any moment of it, and what was freed in it.
    std::vector<double> floors;
    std::vector<double> freed;
    double most = 0; // bytes in use at once

    double objects = 0;
    double bytes = 0;
    double reallocated = 0; // of `objects`, those that a realloc allocated

    // A block is replaced where its thread frees it, or has it reallocated, next after it has allocated a
    // larger one from the same site. In triage: where its thread allocated exactly one block meanwhile,
    // larger by a quarter at most, wherever from.
    uint64_t ends = 0;     // blocks that were freed; in triage, of those that were sampled
    uint64_t replaced = 0; // of these
    uint64_t constant = 0; // of these, those in a row of at least kLeastRow equal steps; in triage, all
    double copied = 0;     // bytes of `constant` whose address changed; 0 in triage
    uint64_t step = 0;     // bytes, the most frequent of `constant`
    uint64_t lead = 0;     // how often it was, less the other steps
    uint64_t smallest = 0; // sizes of `constant`
    uint64_t largest = 0;
    uint64_t grid = 0; // in triage: these sizes differ by multiples of it; 0: they are all the same
};

struct SiteHistories {
    static constexpr uint32_t kLeastRow = 8;

    uint64_t width = 1; // of a slice, in ticks
    bool whole = true;  // false: there were more than `most` events, and the others were not read
    std::vector<SiteHistory> sites;
    SiteHistory rest;           // stacks that are not listed
    std::vector<double> floors; // of everything together, as of a site
};

// Reads the events again, of the file that `summary` is of, and no more than about `most`. `stacks` has sites
// below `sites`; the time is divided into `slices` of equal length.
SiteHistories site_histories(BlockFile &file, const Definitions &definitions, const Summary &summary,
                             std::span<const SiteStack> stacks, uint32_t sites, uint32_t slices,
                             uint64_t most);

} // namespace reap::native
