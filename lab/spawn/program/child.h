/* Starts the program.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_CHILD_H
#define REAP_SPAWN_CHILD_H

#include <signal.h>
#include <sys/types.h>

#include "options.h"

namespace reap::spawn {

/// A program that was forked and waits before exec. Descriptors are the parent's ends.
struct Child {
    pid_t pid = -1;
    int release = -1; ///< closing it lets the program execute
    int failure = -1; ///< yields the errno as an int if exec failed, else nothing
    int output = -1;  ///< its standard output, when captured
    int errors = -1;  ///< its standard error, when captured
};

/// Forks. The child waits before exec until it is released, and gets `mask` as its signal mask. If its output
/// is captured it leads its own session, so that its process group can be ended together and no terminal can
/// stop it; otherwise it stays in the launcher's process group. On failure returns false with errno set.
bool start_child(const Options &options, const sigset_t &mask, Child &child);

/// Lets the program execute. Returns 0, or the errno of what failed.
int release_child(Child &child);

} // namespace reap::spawn

#endif
