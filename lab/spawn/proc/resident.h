/* Resident memory of a process tree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_H
#define REAP_SPAWN_RESIDENT_H

#include <sys/types.h>

#include <cstdint>

namespace reap::spawn {

/// Sum of the resident bytes of all living descendants of `root`, without `root` itself. A page shared by
/// several of them counts once for each. A few microseconds per process.
std::uint64_t resident_bytes(pid_t root);

/// Resident bytes of one process.
std::uint64_t own_resident_bytes(pid_t pid);

} // namespace reap::spawn

#endif
