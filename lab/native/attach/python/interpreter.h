// The CPython of a running process.
#pragma once

#include <cstdint>
#include <optional>

#include "attach/python/memory.h"
#include "attach/python/places.h"
#include "attach/target.h"
#include "reap_trace.h"

namespace reap::native {

struct PythonInterpreter {
    uint64_t version = 0;                     // PY_VERSION_HEX
    std::optional<reap_unknown_code> unknown; // why its frames cannot be read
    PythonPlaces places;
    uint64_t code_type = 0; // the address of the type of code, and of strings
    uint64_t text_type = 0;
};

// Nothing where it has none, or one that exports no symbols.
std::optional<PythonInterpreter> find_python(Target &target);

// The id that CPython keeps of the first thread of this process, where it is not its own, as after a fork
// under CPython 3.11: that of the thread that forked. 0: it is its own, or not known yet.
uint64_t kept_main_thread(const PythonInterpreter &python, pid_t process);

} // namespace reap::native
