/* The result of a launch, as JSON.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESULT_H
#define REAP_SPAWN_RESULT_H

#include <sys/resource.h>

#include <cstdint>

#include "program/capture.h"

namespace reap::spawn {

/// The raw outcome of one program.
struct Result {
    int failed_errno = 0;         ///< not 0: the program did not run
    const char *failed_step = ""; ///< then the step that failed: `exec`, `fork`, `attach`, ...
    int wait_status = 0;
    bool timed_out = false;
    std::int64_t wall_ns = 0;
    rusage usage{};
    std::int64_t events = -1;        ///< from EventCounter; -1: not counted
    std::int64_t written_bytes = -1; ///< from PrivateView; -1: there was none
    char written_digest[Capture::digest_bytes] = "";
    Capture output;
    Capture errors;
    bool captured = false;
};

/// Writes one JSON object: the fields of reap.launch.records.Outcome, or `failed_step` and `errno` if the
/// program did not run. Returns false if it could not be written.
bool write_result(int fd, const Result &result);

} // namespace reap::spawn

#endif
