// What programs rebuilt from public reports share: each is NAME [SCALE [cured]], as ../causes/cause.c.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace reports {

// Whether to do the same work without the fault.
inline bool cured;

struct Program {
    const char *name;
    void (*run)(double scale);
};

// The next number of a sequence that begins with the same seed in every run.
inline std::uint64_t next_number(std::uint64_t &state) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return state >> 33;
}

// Uses CPU time without memory: about a nanosecond per turn.
[[gnu::noinline]] inline std::uint64_t compute(std::uint64_t turns, std::uint64_t seed) {
    for (; turns > 0; turns--) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

template <std::size_t Count>
int choose(const Program (&programs)[Count], int count, char **words) {
    const char *name = count > 1 ? words[1] : "";
    const double scale = count > 2 ? std::atof(words[2]) : 1;
    cured = count > 3 && std::strcmp(words[3], "cured") == 0;
    for (const Program &program : programs)
        if (std::strcmp(program.name, name) == 0) {
            program.run(scale);
            return 0;
        }
    std::fprintf(stderr, "usage: %s NAME [SCALE [cured]]\n", words[0]);
    return 2;
}

} // namespace reports
