/* Listing a process tree, and sending signals to it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TREE_H
#define REAP_SPAWN_TREE_H

#include <sys/types.h>

namespace reap::spawn {

/// Sends `signal` to every living descendant of `root` that /proc shows now, but not to `root`. Returns how
/// many processes it was sent to.
int signal_descendants(pid_t root, int signal);

/// Writes `root` and then its descendants, nearest first, to `out`, at most `limit` of them. Returns how
/// many.
int list_tree(pid_t root, pid_t *out, int limit);

} // namespace reap::spawn

#endif
