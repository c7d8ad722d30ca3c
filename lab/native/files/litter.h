// The litter file: written before a program starts, and read when it has ended. See reap_litter.h.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reap_litter.h"

namespace reap::native {

// Makes the file with room for reports, which is taken of the disk: a process that writes to a mapped hole on
// a full disk dies of it. Of `header` what describes the file itself (magic to report_slots) is filled in.
// Returns where the reports begin. Throws std::system_error.
uint32_t write_litter(const std::string &path, reap_litter_header header,
                      const std::vector<std::pair<uint64_t, uint64_t>> &sizes);

// What processes said of their littering.
struct LitterReports {
    uint64_t lost = 0;       // reports for which there was no room
    uint32_t deepbind = 0;   // how often something was opened with RTLD_DEEPBIND
    bool overwritten = true; // the program wrote where it should not have: no report is believed
    std::vector<reap_litter_report> reports; // those that were begun
};

// Reads the reports of a file in which they begin at `offset`, whatever its header says by now. Throws
// std::system_error when it cannot be read and BadTrace when it is not a regular file.
LitterReports read_litter(const std::string &path, uint32_t offset);

} // namespace reap::native
