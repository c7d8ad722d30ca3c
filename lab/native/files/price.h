// The file of the price preloads: made before a program starts, and read when it has ended. See reap_price.h.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reap_price.h"

namespace reap::native {

// Makes the file with room for all slots, which is taken of the disk: a process that writes to a mapped hole
// on a full disk dies of it. Throws std::system_error.
void create_price(const std::string &path);

// The slots that processes have claimed; nothing if the program wrote where it should not have. Throws
// std::system_error when it cannot be read and BadTrace when it is not a regular file.
std::optional<std::vector<reap_price_slot>> read_price(const std::string &path);

} // namespace reap::native
