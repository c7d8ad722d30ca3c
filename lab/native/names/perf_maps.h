// What just-in-time compilers say of the code that they made.
#pragma once

#include <cstdint>
#include <string>

namespace reap::native {

// Adds to a finished trace the names of the functions compiled at run time that its stacks have: of each
// process, from FOLDER/perf-PID.map, as Node.js (--perf-basic-prof), agents of the JVM and others write it.
// Only a regular file is read that was written during the recording, by this user (by anybody, if this is
// root), its first 256 MiB. Later lines hold. One that is refused is noted in the trace. Returns how many
// return addresses got a name. Throws std::system_error, or BadTrace when the file is no trace.
uint64_t keep_perf_maps(const std::string &path, const std::string &folder);

} // namespace reap::native
