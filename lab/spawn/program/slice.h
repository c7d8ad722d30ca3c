/* How long a process runs before another one on its core has its turn.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_SLICE_H
#define REAP_SPAWN_SLICE_H

namespace reap::spawn {

/// Lets the calling process, and all that it starts, run for 12 ms at a time beside others on its core; the
/// kernel's own slice is 1 to 4 ms. After each switch a program refills the core's caches, which makes the
/// differences between programs that share a core smaller than they are: cc1 under mimalloc takes 2.6 % less
/// with the kernel's slices, 3.1 % with 12 ms and 3.3 % alone. Slices of 20 to 50 ms make little of the rest,
/// and keep other programs waiting longer. Kernels before Linux 6.12 have no slices of a process's own, and
/// other policies than the default none: there, and where it is not permitted, nothing changes.
void lengthen_slice();

} // namespace reap::spawn

#endif
