// The samples of drag of one process. Trusts nothing in the file. See reap_drag_samples.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reap_drag_samples.h"

namespace reap::native {

struct DragSampleFile {
    uint32_t pid = 0;
    std::string program;
    uint64_t clock = 0;               // bytes that it allocated
    bool ended = false;               // it came to its own end, where every living object was looked at
    std::string problem;              // in words; empty for none
    double seconds = 0;               // spent in the engine
    std::vector<std::string> modules; // the files that frames lie in; the first is number 1
    std::vector<reap_drag_sample> samples;
};

// Reads a file, whatever ended its process. Rows that make no sense are left out. Throws std::system_error
// when it cannot be read and BadTrace, with the end of a sentence, when it is none.
DragSampleFile read_drag_samples(const std::string &path);

// The frames of a sample, innermost first.
std::vector<uint64_t> frames_of(const reap_drag_sample &sample);

} // namespace reap::native
