#pragma once

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

#include "ask.h"
#include "requests.h"

// How long requests take. In an open loop each has a time at which it is to begin, whether a server is free
// or not, and its latency counts from there: a slow one makes those behind it late, as it would users. In a
// closed loop the next begins when the last has ended, and what a stall keeps waiting is never seen
// (coordinated omission).

namespace latency {

/// When each request is to begin, in nanoseconds from the start: Poisson, the same for every allocator.
inline std::vector<double> schedule(std::size_t requests, double rate) {
    workload::Random random(7);
    std::vector<double> when(requests);
    double now = 0;
    for (double &each : when) {
        now -= std::log(1 - random.fraction()) * 1e9 / rate;
        each = now;
    }
    return when;
}

/// `latency`: writes how long each request took, nanoseconds of 8 bytes each, into a file that `raw` names.
inline bool answer(const ask::Words &words) {
    const std::size_t count = words.number("requests", 10000), objects = words.number("objects", 100);
    const std::size_t servers = std::max<std::size_t>(words.number("threads", 1), 1),
                      rate = words.number("rate", 0);
    const std::string memory = words.word("memory", "malloc"), raw = words.word("raw", "");
    const std::vector<double> when =
        rate == 0 ? std::vector<double>{} : schedule(count, static_cast<double>(rate));
    std::vector<std::uint64_t> took(count, 1); // touched before anything is timed
    std::atomic<std::size_t> next = 0, ready = 0, all = 0;
    std::atomic<bool> go = false;
    double begun = 0;
    std::vector<std::thread> threads;
    threads.reserve(servers);
    for (std::size_t which = 0; which < servers; ++which)
        threads.emplace_back([&] {
            std::vector<void *> made(std::max<std::size_t>(objects, 1));
            std::uint64_t sum = 0;
            requests::with(memory, objects, [&](auto &&kept) {
                for (std::size_t n = 0; n < 200; ++n)
                    sum += requests::answer(kept, made, objects, requests::whole_text, n); // warm
                ++ready;
                while (!go) {
                }
                for (std::size_t n = next++; n < count; n = next++) {
                    double start = ask::wall_ns();
                    if (rate != 0) {
                        const double meant = begun + when[n];
                        while (start < meant) start = ask::wall_ns();
                        start = meant;
                    }
                    sum += requests::answer(kept, made, objects, requests::whole_text, n);
                    took[n] = static_cast<std::uint64_t>(std::max(1.0, ask::wall_ns() - start));
                }
                return true;
            });
            all += sum;
        });
    while (ready < servers) std::this_thread::yield();
    begun = ask::wall_ns();
    go = true;
    for (std::thread &each : threads) each.join();
    const double wall = ask::wall_ns() - begun;
    if (!raw.empty()) {
        std::FILE *const file = std::fopen(raw.c_str(), "wb");
        if (file == nullptr || std::fwrite(took.data(), sizeof took[0], count, file) != count ||
            std::fclose(file) != 0) {
            std::perror(raw.c_str());
            return false;
        }
    }
    ask::Answer said;
    said.add("sum", static_cast<double>(all % (1U << 20U))); // the same in each memory, on one thread
    said.add("rate", 1e9 * static_cast<double>(count) / wall);
    return true;
}

} // namespace latency
