/* Reading small files of /proc.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_TEXT_FILE_H
#define REAP_SPAWN_TEXT_FILE_H

#include <fcntl.h>
#include <sys/types.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstring>

namespace reap::spawn {

/// Reads as much of a file as fits into `text` and terminates it. Returns the number of bytes; 0, and an
/// empty text, if the file cannot be read.
inline std::size_t read_text(const char *path, char *text, std::size_t capacity) {
    text[0] = '\0';
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t got = read(file, text, capacity - 1);
    close(file);
    const std::size_t length = got > 0 ? static_cast<std::size_t>(got) : 0;
    text[length] = '\0';
    return length;
}

/// The third field of a text of /proc/PID/stat, the state; null if the text has none. The name before it is
/// in parentheses and may contain anything.
inline const char *find_state(const char *text) {
    const char *name_end = std::strrchr(text, ')');
    return name_end == nullptr || name_end[1] != ' ' || name_end[2] == '\0' ? nullptr : name_end + 2;
}

/// Reads /proc/PID/stat into `text` and returns its state; null if the process does not exist.
template <std::size_t size>
const char *read_state(pid_t process, char (&text)[size]) {
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(process));
    read_text(path, text, size);
    return find_state(text);
}

} // namespace reap::spawn

#endif
