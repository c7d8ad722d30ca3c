/* Files that recorded programs were loaded from, held while they may be deleted or replaced.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_HELD_FILES_H
#define REAP_SPAWN_HELD_FILES_H

#include <cstddef>
#include <sys/types.h>

namespace reap::spawn {

/// Names are looked up in the files of modules when the recording ends. Programs send descriptors of theirs;
/// what is no regular file, and what is held already, is closed.
class HeldFiles {
  public:
    HeldFiles() = default;
    ~HeldFiles();
    HeldFiles(const HeldFiles &) = delete;
    HeldFiles &operator=(const HeldFiles &) = delete;

    /// Takes the descriptor of the file that a module is called by `name`, of `length` bytes.
    void take(int file, const char *name, std::size_t length);

    /// Copies those that are no longer at their name into `folder`: file N, and its name in N.name.
    void write_to(const char *folder) const;

  private:
    struct Held {
        int file;
        dev_t device;
        ino_t inode;
        char *name;
    };
    static constexpr int most = 256;
    Held files_[most] = {};
    int count_ = 0;
};

} // namespace reap::spawn

#endif
