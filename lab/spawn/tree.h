/* Ending a whole tree of processes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TREE_H
#define REAP_SPAWN_TREE_H

#include <sys/types.h>

namespace reap::spawn {

/// Sends `signal` to every living descendant of `root`, as /proc shows them now. The root is not sent
/// to. Returns how many were sent to.
int signal_descendants(pid_t root, int signal);

} // namespace reap::spawn

#endif
