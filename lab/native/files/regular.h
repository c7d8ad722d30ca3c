// Opening files whose names come from a measured program, its files or its user.
#pragma once

#include <cstdint>
#include <string>

namespace reap::native {

enum class Links : uint8_t {
    Owned,  // followed if they belong to root, to this user, or to the owner of the file
    Folders // the same, but not the file itself
};

// Opens a regular file for reading and returns its descriptor. Never waits for the writer of a pipe nor opens
// a device. A link of another user leads to their own files only, as SymLinksIfOwnerMatch of Apache httpd has
// it: else they would have root read what they may not. Below /proc/PID/root links stay in that root.
// Returns -1 with errno: ELOOP for a link that is not followed, EINVAL for what is no regular file.
int open_regular(const std::string &path, Links links = Links::Owned);

} // namespace reap::native
