/* Watches a running process.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_ATTACHED_H
#define REAP_SPAWN_ATTACHED_H

#include <sys/types.h>

#include <cstdint>

#include "observe/watcher.h"

namespace reap::spawn {

/// Watches `process` and its descendants for `duration_ns`, or until `process` ends or this process gets
/// SIGINT, SIGTERM or SIGHUP, and writes their resource usage in that time to `fd` as one line of JSON. The
/// process is neither stopped nor modified. False if the result could not be written.
bool watch_running(pid_t process, std::int64_t duration_ns, Watcher &watcher, int fd);

} // namespace reap::spawn

#endif
