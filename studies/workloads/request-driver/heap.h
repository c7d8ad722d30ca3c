#pragma once

#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "ask.h"
#include "requests.h"

// What is left of memory when it was freed, and what a steady program holds beside what it uses.

namespace heap {

/// What the kernel says of this process, in bytes: a line of `smaps_rollup`.
inline double smaps(const char *field) {
    std::FILE *const file = std::fopen("/proc/self/smaps_rollup", "r");
    if (file == nullptr) return 0;
    char line[256];
    double found = 0;
    const std::size_t length = std::strlen(field);
    while (std::fgets(line, sizeof line, file) != nullptr)
        if (std::strncmp(line, field, length) == 0) found = std::strtod(line + length, nullptr) * 1024;
    std::fclose(file);
    return found;
}
inline double resident() { return smaps("Rss:"); }

inline char *block(std::size_t size) {
    auto *const made = static_cast<char *>(std::malloc(size));
    if (made == nullptr) std::abort();
    std::memset(made, 1, size);
    requests::seen(made);
    return made;
}

/// Some work for a while: ten requests of a thousand objects every ten milliseconds, or nothing. More than a
/// thread's cache holds, so that the allocator is at work, and its clock goes on.
inline void pass(std::size_t milliseconds, bool busy) {
    for (std::size_t gone = 0; gone < milliseconds; gone += 10) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
        if (!busy) continue;
        std::vector<void *> made(1000);
        requests::Malloc memory;
        for (int n = 0; n < 10; ++n) requests::answer(memory, made, made.size(), 0, gone);
    }
}

/// `climb`: a report takes many megabytes in blocks of 1 to 4 KB and frees them, but for the last, or one in
/// so many.
inline void climb(const ask::Words &words) {
    const std::size_t all = words.number("megabytes", 100) << 20U, keep = words.number("keep_one_in", 0);
    const bool pin = words.number("pin", 1) != 0, busy = words.number("busy", 0) != 0;
    const std::size_t wait = words.number("wait_ms", 0);
    workload::Random random(3);
    const double before = resident();
    std::vector<char *> blocks;
    blocks.reserve(all / 2048);
    for (std::size_t made = 0; made < all;) {
        const std::size_t size = 1024 + random.below(3072);
        blocks.push_back(block(size));
        made += size;
    }
    char *const last = pin ? block(2048) : nullptr;
    const double peak = resident() - before;
    for (std::size_t n = 0; n < blocks.size(); ++n)
        if (keep == 0 || n % keep != 0) std::free(blocks[n]);
    const double freed = resident() - before;
    if (words.number("trim", 0) != 0)
        if (auto *const trim = reinterpret_cast<int (*)(std::size_t)>(dlsym(RTLD_DEFAULT, "malloc_trim")))
            trim(0);
    const double trimmed = resident() - before;
    pass(wait, busy);
    ask::Answer said;
    said.add("peak", peak);
    said.add("kept_share", freed / peak);
    said.add("trimmed_share", std::max(trimmed, 4096.0) / peak);
    said.add("waited_share", std::max(resident() - before, 4096.0) / peak);
    said.add("lazy_share", smaps("LazyFree:") / peak);
    std::free(last);
}

/// `steady`: threads replace objects at random, and the same number of bytes lives all the time.
inline void steady(const ask::Words &words) {
    const std::size_t threads = std::max<std::size_t>(words.number("threads", 1), 1);
    const std::size_t slots = words.number("slots", 200000), turns = words.number("turns", 1000000);
    const double before = resident();
    std::vector<double> live(threads);
    std::vector<std::thread> running;
    running.reserve(threads);
    std::barrier together(static_cast<std::ptrdiff_t>(threads + 1));
    for (std::size_t which = 0; which < threads; ++which)
        running.emplace_back([&, which] {
            workload::Random random(which);
            std::vector<std::pair<char *, std::size_t>> held(slots);
            for (std::size_t n = 0; n < turns; ++n) {
                auto &[object, size] = held[n < slots ? n : random.below(slots)];
                std::free(object);
                live[which] -= static_cast<double>(size);
                size = requests::size_of(random.below(32));
                object = block(size);
                live[which] += static_cast<double>(size);
            }
            together.arrive_and_wait();
            together.arrive_and_wait(); // resident memory is read meanwhile
            for (const auto &[object, size] : held) std::free(object);
        });
    together.arrive_and_wait();
    const double now = resident() - before;
    together.arrive_and_wait();
    for (std::thread &each : running) each.join();
    double all = 0;
    for (const double each : live) all += each;
    ask::Answer said;
    said.add("resident", now);
    said.add("resident_to_live", now / all);
}

} // namespace heap
