#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <functional>
#include <list>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

#include "reap/face/allocator.h"
#include "reap/layer/reap.h"

// Containers of small nodes on reaps that round to 8 and to 16.
//
//   bench-containers [ROUNDS]
//
// A turn fills a container with 200,000 elements, erases one half of them, chosen at random, fills it again,
// adds up what is in it and clears it. Time is thread CPU time, a step being an element that comes or goes.
// Rounds have both reaps, in turn the one or the other first; said are medians. Memory is what a filled
// container adds to a process that does nothing else.

namespace {

constexpr std::size_t elements = 200'000;

using Reap8 = reap::Reap<>;
using Reap16 = reap::Reap<reap::CachedSuperblocks, 16>;

std::vector<std::uint64_t> shuffled() {
    std::vector<std::uint64_t> keys(elements);
    std::iota(keys.begin(), keys.end(), 0U);
    std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
    return keys;
}
const std::vector<std::uint64_t> keys = shuffled();
constexpr std::size_t steps = 4 * elements;

/// Nodes of 24 B.
template <class Layer>
struct List {
    std::list<std::uint64_t, reap::StlAllocator<std::uint64_t, Layer>> all;
    explicit List(Layer &layer) : all(layer) {}
    void insert(std::uint64_t key) { all.push_back(key); }
    // Keys come in an order of their own, so each second one of them is half of them at random.
    void erase_half() {
        for (auto at = all.begin(); at != all.end();) at = *at % 2 == 0 ? all.erase(at) : std::next(at);
    }
    static std::uint64_t value(std::uint64_t element) { return element; }
};

/// What is found by a key.
template <class Container>
struct Keyed {
    Container all;
    template <class Layer>
    explicit Keyed(Layer &layer) : all(typename Container::allocator_type(layer)) {}
    void erase_half() {
        for (const std::uint64_t key : keys)
            if (key % 2 == 0) all.erase(key);
    }
};

/// Nodes of 40 B.
template <class Layer>
struct Set : Keyed<std::set<std::uint64_t, std::less<>, reap::StlAllocator<std::uint64_t, Layer>>> {
    using Set::Keyed::Keyed;
    void insert(std::uint64_t key) { this->all.insert(key); }
    static std::uint64_t value(std::uint64_t element) { return element; }
};

template <class Value, class Layer>
using Entries = reap::StlAllocator<std::pair<const std::uint64_t, Value>, Layer>;

/// Nodes of 48 B, which no rounding changes.
template <class Layer>
struct Map : Keyed<std::map<std::uint64_t, std::uint64_t, std::less<>, Entries<std::uint64_t, Layer>>> {
    using Map::Keyed::Keyed;
    void insert(std::uint64_t key) { this->all.emplace(key, key); }
    static std::uint64_t value(const std::pair<const std::uint64_t, std::uint64_t> &entry) {
        return entry.second;
    }
};

/// Nodes of 24 B, and a table.
template <class Layer>
struct Hashed : Keyed<std::unordered_map<std::uint64_t, std::uint64_t, std::hash<std::uint64_t>,
                                         std::equal_to<>, Entries<std::uint64_t, Layer>>> {
    using Hashed::Keyed::Keyed;
    void insert(std::uint64_t key) { this->all.emplace(key, key); }
    static std::uint64_t value(const std::pair<const std::uint64_t, std::uint64_t> &entry) {
        return entry.second;
    }
};

double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

long resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    long pages = 0;
    statm >> pages >> pages;
    return pages * sysconf(_SC_PAGESIZE);
}

/// Nanoseconds a step.
template <template <class> class Container, class Layer>
double time_turn() {
    std::uint64_t sum = 0;
    Layer layer;
    const double begun = cpu_ns();
    Container<Layer> container(layer);
    for (const std::uint64_t key : keys) container.insert(key);
    container.erase_half();
    for (const std::uint64_t key : keys)
        if (key % 2 == 0) container.insert(key);
    for (const auto &element : container.all) sum += Container<Layer>::value(element);
    container.all.clear();
    const double taken = cpu_ns() - begun;
    if (sum != std::uint64_t{elements} * (elements - 1) / 2) std::abort();
    return taken / static_cast<double>(steps);
}

[[noreturn]] void give_up(const char *what) {
    std::perror(what);
    std::exit(1);
}

/// Bytes an element, found by a process of its own.
template <template <class> class Container, class Layer>
double measure_memory() {
    std::array<int, 2> ends{};
    if (pipe(ends.data()) != 0) give_up("bench-containers: no pipe");
    const pid_t child = fork();
    if (child < 0) give_up("bench-containers: no process");
    if (child == 0) {
        Layer layer;
        const long before = resident_bytes();
        Container<Layer> container(layer);
        for (const std::uint64_t key : keys) container.insert(key);
        const long added = resident_bytes() - before;
        _exit(write(ends[1], &added, sizeof added) == sizeof added ? 0 : 1);
    }
    close(ends[1]);
    long added = 0;
    if (read(ends[0], &added, sizeof added) != sizeof added) give_up("bench-containers: no answer");
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return static_cast<double>(added) / static_cast<double>(elements);
}

double median(std::vector<double> &values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

template <template <class> class Container>
class Row {
  public:
    // Before anything else: what a reap gave back stays in a cache, resident.
    explicit Row(const char *name)
        : name_(name), bytes_{measure_memory<Container, Reap8>(), measure_memory<Container, Reap16>()} {}

    void take_times(unsigned rounds) {
        constexpr std::array turns{time_turn<Container, Reap8>, time_turn<Container, Reap16>};
        std::vector<double> eights;
        std::vector<double> ratios;
        for (unsigned round = 0; round < rounds; ++round) {
            std::array<double, 2> ns{};
            for (unsigned turn = 0; turn < 2; ++turn) {
                const unsigned which = (round + turn) % 2;
                ns[which] = turns[which]();
            }
            eights.push_back(ns[0]);
            ratios.push_back(ns[1] / ns[0]);
        }
        std::printf("%-14s %9.1f %9.2f %9.1f %9.1f\n", name_, median(eights), median(ratios), bytes_[0],
                    bytes_[1]);
    }

  private:
    const char *name_;
    std::array<double, 2> bytes_;
};

} // namespace

int main(int argc, char **argv) {
    const unsigned rounds = argc > 1 ? static_cast<unsigned>(std::stoul(argv[1])) : 21;
    Row<List> list("list");
    Row<Set> set("set");
    Row<Map> map("map");
    Row<Hashed> hashed("unordered_map");
    std::printf("%-14s %9s %9s %9s %9s\n", "", "8, ns", "16 / 8", "8, B", "16, B");
    list.take_times(rounds);
    set.take_times(rounds);
    map.take_times(rounds);
    hashed.take_times(rounds);
}
