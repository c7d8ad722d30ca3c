/* What the file descriptors of another process refer to.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_DESCRIPTORS_H
#define REAP_SPAWN_DESCRIPTORS_H

#include <sys/types.h>

#include "reap_trace.h"

namespace reap::spawn {

/// What a process waits for when it reads from or writes to this descriptor, as /proc shows it now. Takes a
/// few microseconds.
reap_waited_for waited_for(pid_t pid, int descriptor);

} // namespace reap::spawn

#endif
