/* Reading a small file of /proc whole.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TEXT_FILE_H
#define REAP_SPAWN_TEXT_FILE_H

#include <fcntl.h>
#include <unistd.h>

#include <cstddef>

namespace reap::spawn {

/// Reads what fits into `text`, ended by a zero byte; how many bytes, 0 where it cannot be read.
inline std::size_t read_text(const char *path, char *text, std::size_t capacity) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t got = read(file, text, capacity - 1);
    close(file);
    const std::size_t length = got > 0 ? static_cast<std::size_t>(got) : 0;
    text[length] = '\0';
    return length;
}

} // namespace reap::spawn

#endif
