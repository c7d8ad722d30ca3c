// Finds which files of a running process have an allocator that no preload gets in front of, before it is
// watched.
#pragma once

#include <sys/types.h>

#include <compare>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "symbols/own_names.h"

namespace reap::native {

// A file with such an allocator.
struct LinkedFile {
    std::string path;      // as the process knows it
    std::string allocator; // jemalloc, mimalloc, ...; empty: a malloc that has no known one's names

    friend auto operator<=>(const LinkedFile &, const LinkedFile &) = default;
};

// The allocators in a file, by the functions that it defines; without a name and a prefix: a malloc of the
// executable's own. A library with a malloc for others has none: its functions are recorded where they are
// called.
std::vector<OwnNames> names_linked_into(const std::string &path, bool executable);

// Of many processes, from any thread. Symbol tables of a file are read once, 10 ms for the largest; a process
// costs a read of its mappings.
class LinkedFiles {
  public:
    // Those that the process has mapped as code; none where it may not be looked at, or has ended.
    std::vector<LinkedFile> in(pid_t process);
    // The names in one file of it.
    const std::vector<OwnNames> &names(pid_t process, const std::string &identity, const std::string &path,
                                       const std::string &opened);

  private:
    std::mutex reading_;
    std::map<std::pair<std::string, bool>, std::vector<OwnNames>> known_; // by identity, whether executed
};

} // namespace reap::native
