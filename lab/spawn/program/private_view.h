/* A private copy-on-write view of folders, for programs that run at the same time and write the same files.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PRIVATE_VIEW_H
#define REAP_SPAWN_PRIVATE_VIEW_H

#include "options.h"
#include "result.h"

namespace reap::spawn {

/// The mounts of the launcher and of all that it starts: an overlay over each folder, whose changes go to a
/// tmpfs that no path leads to. The kernel drops all of it when the last of these processes has ended,
/// however it ends. Where mounting is not permitted, the mounts are in a user namespace in which the user has
/// its own number; the program gets no capability from that.
class PrivateView {
  public:
    /// Replaces the folders of the options. Must be called before any other thread or process is started. On
    /// failure fills `result` with the step and errno.
    bool enter(const Options &options, Result &result);

    /// Measures what was written, for `result`: its size, and a digest of its names, modes and contents.
    void measure(Result &result) const;

  private:
    bool cover(const char *folder, int number, int memory);

    int changes_[Options::max_private_folders] = {}; ///< descriptors of the upper folders
    int count_ = 0;
    bool in_user_namespace_ = false;
};

} // namespace reap::spawn

#endif
