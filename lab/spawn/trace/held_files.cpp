// SPDX-License-Identifier: MIT
#include "trace/held_files.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reap::spawn {
namespace {

/// Of all copies together. What measured programs send is theirs to choose.
constexpr off_t most_bytes = off_t{1} << 30;

/// Whether the file is still what its name leads to.
bool is_in_place(const char *name, dev_t device, ino_t inode) {
    struct stat found{};
    return std::strncmp(name, "/proc/", 6) != 0 && std::strncmp(name, "/dev/", 5) != 0 &&
           stat(name, &found) == 0 && found.st_dev == device && found.st_ino == inode;
}

int create(const char *folder, int number, const char *ending) {
    char path[4200];
    const int length = std::snprintf(path, sizeof path, "%s/%d%s", folder, number, ending);
    if (length < 0 || static_cast<std::size_t>(length) >= sizeof path) return -1;
    return open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
}

bool copy(int from, int to, off_t bytes) {
    off_t at = 0;
    while (at < bytes) {
        const ssize_t got = sendfile(to, from, &at, static_cast<std::size_t>(bytes - at));
        if (got <= 0) return false;
    }
    return true;
}

} // namespace

HeldFiles::~HeldFiles() {
    for (int i = 0; i < count_; ++i) {
        close(files_[i].file);
        std::free(files_[i].name);
    }
}

void HeldFiles::take(int file, const char *name, std::size_t length) {
    struct stat found{};
    bool wanted = count_ < most && fstat(file, &found) == 0 && S_ISREG(found.st_mode);
    for (int i = 0; i < count_ && wanted; ++i) {
        const Held &known = files_[i];
        wanted = known.device != found.st_dev || known.inode != found.st_ino;
    }
    char *const kept = wanted ? strndup(name, length) : nullptr;
    if (kept == nullptr) {
        close(file);
        return;
    }
    files_[count_++] = {file, found.st_dev, found.st_ino, kept};
}

void HeldFiles::write_to(const char *folder) const {
    off_t left = most_bytes;
    for (int i = 0; i < count_; ++i) {
        const Held &held = files_[i];
        struct stat found{};
        if (is_in_place(held.name, held.device, held.inode) || fstat(held.file, &found) != 0 ||
            found.st_size > left)
            continue;
        const int to = create(folder, i, "");
        if (to < 0) return;
        const bool whole = copy(held.file, to, found.st_size);
        close(to);
        left -= found.st_size;
        const int names = whole ? create(folder, i, ".name") : -1;
        if (names < 0) continue;
        (void)!write(names, held.name, std::strlen(held.name));
        close(names);
    }
}

} // namespace reap::spawn
