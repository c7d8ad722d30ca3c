/* Resident memory of a process tree.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_H
#define REAP_SPAWN_RESIDENT_H

#include <sys/types.h>

#include <cstdint>

namespace reap::spawn {

struct Resident {
    std::uint64_t bytes = 0;
    std::uint64_t anonymous = 0; ///< of these, heaps, stacks and written data: in no file and not shared
};

/// Sum over all living descendants of `root`, without `root` itself. A page shared by several of them counts
/// once for each. A few microseconds per process.
Resident resident_memory(pid_t root);

/// The same, where a page that several processes map counts once in all of them: their proportional set size.
/// Of a process that may not be read so (another user's) its resident memory. The kernel walks all pages.
std::uint64_t proportional_memory(pid_t root);

/// Of one process.
Resident own_resident_memory(pid_t pid);

} // namespace reap::spawn

#endif
