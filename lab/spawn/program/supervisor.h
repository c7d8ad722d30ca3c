/* From fork to wait: one program under supervision.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_SUPERVISOR_H
#define REAP_SPAWN_SUPERVISOR_H

#include "observe/observer.h"
#include "options.h"
#include "result.h"

namespace reap::spawn {

/// Runs the program to its end: drains its output, passes signals on to it, ends it (SIGTERM, then
/// SIGKILL) when its time is over or the launcher's own parent dies, and fills `result`.
void supervise(const Options &options, Observer &observer, Result &result);

} // namespace reap::spawn

#endif
