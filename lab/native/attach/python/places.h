// Where in a process CPython keeps the frames of its threads.
#pragma once

#include <cstdint>

#include "reap_python.h"

namespace reap::native {

struct PythonPlaces {
    format::PythonLayout layout{};
    uint64_t interpreters = 0; // the address of the pointer to the newest interpreter
    // Offsets in an interpreter: the next one, and its newest thread state
    uint16_t next_interpreter = 0;
    uint16_t threads = 0;
    // In a thread state: the next one, its interpreter, and the id that the kernel gave its thread
    uint16_t next_thread = 0;
    uint16_t interpreter = 0;
    uint16_t native_id = 0;
    // The namespace of that id, as in stat of /proc/PID/ns/pid
    uint64_t namespace_device = 0;
    uint64_t namespace_inode = 0;
};

} // namespace reap::native
