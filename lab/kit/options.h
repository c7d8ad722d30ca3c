// The command line of reap-record: options of `reap record`, by the same names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reap_trace.h"

namespace reap::kit {

struct Options {
    std::string output; // never empty
    uint32_t depth = REAP_DEPTH_TRIAGE;
    bool force = false;
    std::vector<std::string> command; // at least one word, and the first is not empty
};

// Nothing where help or the version was asked for, which is printed then. Throws Refusal.
std::optional<Options> parse_options(int argc, char **argv);

} // namespace reap::kit
