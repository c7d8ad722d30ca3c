// Objects that are handed from thread to thread, in every order: for the tests of what hands them.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "interleave.h"
#include "reap/core/mode.h"

namespace handed {

// The code is the same in all builds: the longest runs are made in one.
inline constexpr bool thorough = !reap::checked;

struct Object {
    alignas(void *) std::array<std::byte, 16> memory{}; // first: the link comes here
    std::size_t size = 16;
    std::size_t group = 0;
    int taken = 0;
    interleave::Plain contents;
};

inline Object &object_at(void *memory) { return *static_cast<Object *>(memory); }

inline void take(void *memory) {
    object_at(memory).contents.write();
    ++object_at(memory).taken;
}

inline void expect_taken_once(interleave::Explorer &explorer,
                              const std::vector<std::vector<Object>> &objects) {
    for (const auto &mine : objects)
        for (const Object &object : mine)
            if (object.taken != 1) explorer.report("an object that was not taken once");
}

struct Result {
    std::size_t orders;
    std::string found;
};

} // namespace handed
