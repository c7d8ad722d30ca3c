// Threads that work at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

// The sum of work(0) to work(count - 1), each in a thread of its own.
template <typename Work>
std::uint64_t in_threads(int count, const Work &work) {
    std::vector<std::uint64_t> sums(static_cast<std::size_t>(count));
    std::vector<std::thread> threads;
    for (int at = 0; at < count; at++)
        threads.emplace_back([&, at] { sums[static_cast<std::size_t>(at)] = work(at); });
    std::uint64_t sum = 0;
    for (int at = 0; at < count; at++) {
        threads[static_cast<std::size_t>(at)].join();
        sum += sums[static_cast<std::size_t>(at)];
    }
    return sum;
}
