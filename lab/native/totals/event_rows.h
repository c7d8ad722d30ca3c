// The events of a recording as columns, some at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "totals/call_tree.h"
#include "trace/block_file.h"

namespace reap::native {

// Rows in the order of time. Memory is bounded by how many are asked for at once.
struct EventRows {
    enum Kind : uint8_t { kAllocation, kFree, kFailure };

    std::vector<int64_t> nanoseconds; // since the recording began
    std::vector<uint8_t> kinds;
    std::vector<uint8_t> calls; // enum reap_call
    std::vector<uint32_t> pids;
    std::vector<uint32_t> threads; // of the process, as ThreadNumbers has them: 0 for its first
    std::vector<uint64_t> addresses;
    std::vector<uint64_t> sizes; // requested; 0 of a free, or of the block that it frees
    std::vector<uint32_t> nodes; // of the tree; CallTree::kNone where it has none; of a free as of `sizes`
    std::vector<double> weights; // of an allocation in triage, how many it stands for; else 1
};

// Calls `take` with at most `most` rows at a time, until there are no more. `summary` is of the same file.
// With `matched` a free in full depth has the size and the node of its block, so that memory also follows
// what was in use at once; one of an unknown block has neither.
void read_event_rows(BlockFile &file, const Definitions &definitions, const Summary &summary,
                     const CallTree &tree, size_t most, bool matched,
                     const std::function<void(EventRows &&)> &take);

} // namespace reap::native
