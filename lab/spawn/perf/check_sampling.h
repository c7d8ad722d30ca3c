/* Can instruction pointers be sampled here?
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CHECK_SAMPLING_H
#define REAP_SPAWN_CHECK_SAMPLING_H

namespace reap::spawn {

/// Really samples this process for 20 ms by a perf event on the software CPU clock, and writes
/// `{"samples": N, "kernel": BOOL, "errno": N}` to `fd`: how many came, whether kernel time may be
/// sampled too, and why not at all (0: it works). Returns false if that cannot be written.
bool check_sampling(int fd);

} // namespace reap::spawn

#endif
