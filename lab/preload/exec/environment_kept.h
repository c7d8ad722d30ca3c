// What an environment needs so that a program that is executed with it is measured, too.
//
// Programs start others with an environment of their own: `env -i`, an entry point that sets LD_PRELOAD, a
// daemon that clears what it inherits. Saved at startup is what reap gave this program: the preloads that
// observe (REAP_PRELOADS; not an allocator, which a program may replace) and the variables that they read.
#pragma once

#include <cstddef>

namespace reap::preload {

constexpr const char *kPreload = "LD_PRELOAD=";
constexpr size_t kPreloadLength = 11;
constexpr size_t kMaxPath = 4096;

// The value of a variable, whose name ends in =, in an environment; null if it is not set.
const char *find_value(char *const *environment, const char *name) noexcept;

// Whether the loader could open the file whose path has `width` characters. False only if it certainly
// cannot.
bool can_open(const char *path, size_t width) noexcept;

// Saves what this program was given. `own_path` is the path of this object, which must outlive the process.
void save_environment(const char *own_path) noexcept;

// Whether a program with this environment would not be measured.
bool lacks_ours(char *const *environment) noexcept;

// Why `restore` may not be used.
enum class Restorable { Yes, Forbidden /* by the user */, OutOfReach /* another root directory or user */ };
Restorable restorable() noexcept;

// How much memory `restore` needs: pointers, with the last, null; and bytes of text.
struct Room {
    size_t entries;
    size_t bytes;
};
Room room_to_restore(char *const *environment) noexcept;

// Writes `environment` with our preloads in front of its own, and with our variables, unless it sets them
// itself.
void restore(char *const *environment, char **entries, char *text) noexcept;

} // namespace reap::preload
