// Keeping names with the recording that they are of, so that it needs no other file to be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "names/names.h"

namespace reap::native {

struct KeepOptions {
    std::string recorder; // the file name of the recorder, whose own time is told apart
    Folders folders;
    HeldFiles held;
    bool again = false; // look up also what has a name: there may be a better one now
};

struct KeepOutcome {
    bool complete = false; // the trace takes names: no process writes to it any more, it is not compressed
    uint64_t addresses = 0;
    uint64_t kept = 0;                // of these, how many records were added
    std::vector<std::string> refused; // files, also of debug information, of another build than the module
};

// Looks up every address of a module that the stacks of a trace have, each once, and adds what is certain to
// the trace; and how many of its samples were in the allocator, which takes the files too. A trace that is
// not complete stays as it is; so does one whose writing fails. Throws std::system_error, and BadTrace when
// the file is no trace. Cost: about 3 us an address, and what it takes to open debug information.
KeepOutcome keep_names(const std::string &path, const KeepOptions &options);

} // namespace reap::native
