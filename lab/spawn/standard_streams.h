/* Standard streams of a program that starts others.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_STANDARD_STREAMS_H
#define REAP_SPAWN_STANDARD_STREAMS_H

#include <fcntl.h>
#include <unistd.h>

namespace reap::spawn {

/// Opens closed standard streams, so that none of our files gets their numbers; the program finds them
/// closed.
inline void fill_standard_streams() {
    int descriptor = 0;
    while (descriptor >= 0 && descriptor <= STDERR_FILENO) descriptor = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (descriptor > STDERR_FILENO) close(descriptor);
}

} // namespace reap::spawn

#endif
