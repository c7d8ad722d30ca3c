#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <benchmark/benchmark.h>

#include "workload.h"

// Every contender says its name once; here it meets every workload.

namespace bench {

/// One contender on one workload.
struct Entry {
    std::string workload;
    std::string contender;
    /// Turns after one to warm up; 0: as many as the time allows.
    benchmark::IterationCount turns;
    void (*measure)(benchmark::State &);
    /// One turn, for the memory it takes; `begin` is called when the workload's own tables are made.
    void (*once)(void (*begin)());
};

std::vector<Entry> &registry();

/// An option of the command line, NAME=LIBRARY: allocators that are loaded, not linked.
struct Loaded {
    std::string name;
    void *library;
    /// The function of that name, or null.
    [[nodiscard]] void *find(const char *function) const;
};

/// Contenders from a loaded library; each peer that has some adds its function here.
std::vector<void (*)(const Loaded &)> &loaders();

namespace detail {

template <Contender A, class W>
void measure(benchmark::State &state) {
    W workload;
    A allocator(W::bytes);
    benchmark::DoNotOptimize(workload.turn(allocator)); // pages are touched and caches are filled
    for (auto _ : state) benchmark::DoNotOptimize(workload.turn(allocator));
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(W::objects));
}

template <Contender A, class W>
void once(void (*begin)()) {
    W workload;
    begin();
    A allocator(W::bytes);
    benchmark::DoNotOptimize(workload.turn(allocator));
}

template <Contender A, class W>
void add_one(std::string_view workload, const std::string &contender, int turns) {
    registry().push_back({std::string(workload), contender, turns, measure<A, W>, once<A, W>});
}

} // namespace detail

/// Registers a contender, in no order: what is run when is decided by the command line. Returns true, for a
/// static to be initialised with.
template <Contender A>
bool add(const std::string &name) {
    detail::add_one<A, Lists<50, false>>("a50", name, 0);
    detail::add_one<A, Lists<50, true>>("a50F", name, 0);
    detail::add_one<A, Lists<many, false>>("a1M", name, 3);
    detail::add_one<A, Lists<many, true>>("a1MF", name, 3);
    detail::add_one<A, Mixed<30>>("b30", name, 3);
    detail::add_one<A, Mixed<90>>("b90", name, 3);
    detail::add_one<A, Fifo>("fifo", name, 2);
    detail::add_one<A, Create>("crt", name, 0);
    detail::add_one<A, Grow>("rea", name, 0);
    detail::add_one<A, Phases>("phase", name, 1);
    return true;
}

} // namespace bench
