/* How much memory a tree of processes holds.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_H
#define REAP_SPAWN_RESIDENT_H

#include <sys/types.h>

#include <cstdint>

namespace reap::spawn {

/// Resident bytes of all living descendants of `root` together, `root` not among them. Pages that they
/// share count once for each. A few microseconds a process.
std::uint64_t resident_bytes(pid_t root);

/// The same of one process alone.
std::uint64_t own_resident_bytes(pid_t pid);

} // namespace reap::spawn

#endif
