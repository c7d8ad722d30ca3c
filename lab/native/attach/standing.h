// How much of a process's time a window stands for: itself, and a part of the time around it.
#pragma once

#include <algorithm>
#include <utility>

namespace reap::native {

struct Span {
    double seconds = 0;
    double cpu = 0; // what the process used for itself, in seconds

    Span operator+(const Span &other) const { return {seconds + other.seconds, cpu + other.cpu}; }
};

// A window that the process's end cut short says little of other times.
inline constexpr double kShortestWindow = 0.002; // seconds

// Shares the time between two windows among them: half is nearer to the one, half to the other. So none
// decides alone what the rates were there: least of all the `first`, in which a program may only begin. That
// one stands for as much again as it saw at most.
inline std::pair<Span, Span> share_gap(const Span &gap, const Span &earlier, const Span &later, bool first) {
    const auto part_of = [&](double whole, double own) {
        if (later.seconds < kShortestWindow) return 1.0;
        return first && own < whole / 2 ? own / whole : 0.5;
    };
    const double part = part_of(gap.seconds, earlier.seconds);
    const double of_cpu = later.cpu <= 0 ? 1 : earlier.cpu <= 0 ? 0 : part_of(gap.cpu, earlier.cpu);
    const Span after{gap.seconds * part, gap.cpu * of_cpu};
    return {after, {gap.seconds - after.seconds, gap.cpu - after.cpu}};
}

// How many calls each of a window stands for. Probes slow a process down: so calls belong to the CPU time
// that it uses for itself, unless it has time to spare and makes as many all the same.
inline double calls_for_each(const Span &window, const Span &around, bool sleeps) {
    const double by_time = window.seconds > 0 ? 1 + around.seconds / window.seconds : 1.0;
    const double by_cpu = window.cpu > 0 ? 1 + around.cpu / window.cpu : 1.0;
    return sleeps ? std::max(by_time, by_cpu) : by_cpu;
}

} // namespace reap::native
