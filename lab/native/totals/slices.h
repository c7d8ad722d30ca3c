// What groups of stacks allocated and had in use in each slice of the time, by thread.
//
// Memory is bounded by the blocks in use at once, and by the groups that a thread allocated from in a slice.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "totals/call_tree.h"
#include "trace/block_file.h"

namespace reap::native {

struct CallSlices {
    uint64_t width = 1; // of a slice, in ticks
    // (pid, number) of each thread, as ThreadNumbers gives them.
    std::vector<std::pair<uint32_t, uint32_t>> threads;

    // Rows, as columns of one length, those of a slice in a row but for kAtExit: what a thread allocated from
    // a group in a slice, and what was in use of it when the slice had most in use.
    std::vector<uint32_t> groups;
    std::vector<uint32_t> by; // place of the thread
    std::vector<uint32_t> slices;
    // As of a tree. kTemporary counts in the slice of the free, kAtExit in that of the allocation.
    std::array<std::vector<double>, CallTree::kMeasures> values;
};

// Reads the events again, of the file that `summary` and `tree` are of. `groups` has a group for each node of
// the tree, or CallTree::kNone for those that are not counted; `count` is the number of slices.
CallSlices call_slices(BlockFile &file, const Definitions &definitions, const Summary &summary,
                       const CallTree &tree, std::span<const uint32_t> groups, uint32_t count);

} // namespace reap::native
