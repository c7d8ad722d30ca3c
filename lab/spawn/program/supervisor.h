/* Supervises one program from fork to wait.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_SUPERVISOR_H
#define REAP_SPAWN_SUPERVISOR_H

#include "observe/observer.h"
#include "options.h"
#include "result.h"

namespace reap::spawn {

/// Runs the program to its end: drains its output, forwards signals to it, ends it (SIGTERM, then SIGKILL) on
/// timeout or when the launcher's own parent dies, and fills `result`.
void supervise(const Options &options, Observer &observer, Result &result);

} // namespace reap::spawn

#endif
