// What was seen of the program from outside its allocation calls: resident memory, and sampled instruction
// pointers judged by whether they lay in the allocator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "symbols/symbols.h"
#include "trace/block_file.h"
#include "trace/definitions.h"

namespace reap::native {

struct ResidentPoint {
    uint64_t ticks;
    uint64_t bytes;     // of all processes of the tree together
    uint64_t anonymous; // of these, in no file; 0 where the launcher did not say
};

struct SampleTotals {
    uint64_t all = 0;           // without the recorder's own
    uint64_t inside = 0;        // executing in the allocator, in user or kernel mode
    uint64_t kernel_inside = 0; // of those, in the kernel on its behalf
    uint64_t kernel = 0;        // all samples in the kernel
    uint64_t recorder = 0;      // in the recorder: left out of `all`
    uint64_t unknown = 0;       // in no mapping that is known (counted in `all`, as outside)
};

// Where time went, by file and function start, for the largest consumers.
struct Outside {
    std::vector<ResidentPoint> resident;
    SampleTotals samples;
    std::vector<UnrecordedProcess> unrecorded;
};

// A time in which a process did what is none of the program's doing, on the clock of the trace.
struct Window {
    uint32_t pid;
    uint64_t begin;
    uint64_t end; // the first moment behind it
};

// What a reader knows of a trace that the trace does not say itself.
struct Context {
    std::string recorder;                // the file name of our preload: its own samples are left out
    std::vector<std::string> allocators; // files that serve malloc, beside those that the images name
    std::vector<Window> left_out;        // samples within are passed over
};

// Reads the OUTSIDE blocks. Where the trace has kept its samples' sums and the context says nothing of its
// own, those are taken: they need no file. Which code is the allocator is taken from the images' own words
// (who provides malloc) and from the context.
Outside read_outside(BlockFile &file, const Definitions &definitions, Symbolizer &symbols,
                     const Context &context);

} // namespace reap::native
