/* Tests whether instruction pointers can be sampled on this machine.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CHECK_SAMPLING_H
#define REAP_SPAWN_CHECK_SAMPLING_H

namespace reap::spawn {

/// Samples this process by a perf event on the software CPU clock until a sample comes, at most for 20 ms,
/// and writes `{"samples": N, "kernel": BOOL, "errno": N}` to `fd`: the number of samples, whether kernel
/// time can be sampled too, and the error (0: sampling works). Returns false if that cannot be written.
bool check_sampling(int fd);

} // namespace reap::spawn

#endif
