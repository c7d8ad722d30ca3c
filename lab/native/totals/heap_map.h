// Where blocks lie: what stays of a littering, and the program's own blocks among it when there are most.
#pragma once

#include <cstdint>
#include <vector>

#include "outside/outside.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

// A stretch of pages that were ever used, pages between that never were left out. Bytes that blocks asked
// for.
struct HeapCell {
    uint64_t litter = 0;
    uint64_t program = 0;
    uint64_t pages = 0;
};

struct HeapMap {
    std::vector<HeapCell> cells; // by address
    uint64_t pages = 0;          // of 4096 bytes, on which some block has been
    uint64_t program_pages = 0;  // on which some block of the program lies now
    uint64_t litter_pages = 0;   // and some of the litter
    uint64_t litter_bytes = 0;
    uint64_t program_bytes = 0;
    uint64_t program_objects = 0;
    uint64_t allocations = 0; // of the program, all of them
    uint64_t runs = 0;        // stretches of these in which each block lies right behind the one before it
    uint64_t longest_run = 0;
};

// The heap of process `pid` at the moment when the program has most blocks in use. What is allocated within
// `littered` is litter. A block lies right behind another of its thread if no more than 64 bytes and a
// quarter of it lie between them: that is what headers and size classes take. Needs a trace of full depth;
// memory grows with the blocks in use and the pages used. `cells` is at least 1.
HeapMap heap_map(BlockFile &file, const Definitions &definitions, uint32_t pid,
                 const std::vector<Window> &littered, size_t cells);

} // namespace reap::native
