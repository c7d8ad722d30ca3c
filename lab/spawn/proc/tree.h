/* A whole tree of processes: listing it, and ending it.
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

/// Writes `root` and then its descendants, nearest first, to `out`; no more than `most`. Returns how many.
int list_tree(pid_t root, pid_t *out, int most);

} // namespace reap::spawn

#endif
