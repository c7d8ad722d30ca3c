// A recording of one run of a program, as lab/reap/recording/record.py makes it.
#pragma once

#include <string>
#include <vector>

#include "folder.h"
#include "launcher.h"
#include "options.h"

namespace reap::kit {

struct Recorded {
    Outcome outcome;
    std::vector<std::string> running; // processes that go on and are still recorded, as `name (pid N)`
    std::string nameless;             // why it has no names of functions; empty if it has
    std::string lost; // why it could not be completed, by what the program did; empty if it was
};

// Runs the program at `path`, which may be recorded, and writes what it did to the output of `options`: made
// here, private to the user, through no link. Throws Refusal where the program could not be run.
Recorded record(const Options &options, const std::string &path, const Folder &folder);

} // namespace reap::kit
