// Which whole stacks allocated, over all processes of a recording: a tree of calls, with totals at its nodes.
//
// Memory is bounded by the number of distinct frames of stacks that allocated, and not by the events.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "names/names.h"
#include "totals/aggregate.h"
#include "trace/definitions.h"

namespace reap::native {

// A line of code that called, or a process.
struct CallPlace {
    std::string module;   // path of the file that has the code; of a process, its executable
    uint64_t address = 0; // in that file; where no module is known, the process's own
    SourceFrame source;
    bool process = false; // the node is an executable: all of its processes together
};

struct CallTree {
    enum Measure : uint8_t { kAllocations, kBytes, kTemporary, kAtPeak, kAtExit, kMeasures };

    static constexpr uint32_t kNone = UINT32_MAX;

    std::vector<CallPlace> places;
    // By node; a node comes after its parent. The roots are processes, and their parent is kNone.
    std::vector<uint32_t> parents;
    std::vector<uint32_t> at; // its place
    // What was allocated with exactly this stack: nothing of what its callees allocated. In triage estimates.
    std::array<std::vector<double>, kMeasures> own;
    uint64_t left_out = 0; // frames that were merged into their callers

    // The node of a stack of a process image; kNone if nothing was allocated from it.
    [[nodiscard]] uint32_t node_of(uint32_t image, uint32_t stack) const noexcept;

    std::unordered_map<uint32_t, std::vector<uint32_t>> nodes; // by image, then by stack
};

// Frames of which no measure, callees included, is at least the share `least` of its total are merged into
// their callers before they are looked up: names cost more than all the rest. 0 keeps every frame.
CallTree call_tree(const Summary &summary, const Definitions &definitions, ModuleNames &names, double least);

// How many allocations have a stack that does not reach the first function of its thread. In triage
// estimates.
struct IncompleteStacks {
    double all = 0;   // allocations with a stack, or without
    double ended = 0; // it ends in code that belongs to no module, or there is none
    double cut = 0;   // it is as deep as stacks are walked, or deeper
};
IncompleteStacks incomplete_stacks(const Summary &summary, const Definitions &definitions);

} // namespace reap::native
