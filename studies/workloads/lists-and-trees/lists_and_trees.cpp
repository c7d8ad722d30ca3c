// Linked lists and red-black trees of texts and structures, in five phases: built, traversed a number of
// times, freed. After the benchmark program of "An experimental evaluation of six general-purpose memory
// allocators"; its source is not available, and details that its description leaves open are ours.
//
// Each traversal reads and modifies the objects of lists, and reads those of trees; trees have a quarter of
// the objects. A phase has 32 lists and 32 trees, divided among the threads; no thread waits for another
// between phases. The output is the same for any number of threads and of evaluations.
//
// Scale: objects in the lists of a phase, in thousands.

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <forward_list>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "common/workload.h"
#include "memory.h"
#include "object.h"

namespace {

constexpr std::size_t phases = 5;
constexpr std::size_t pieces = 32;    // of a phase: a list and a tree each
constexpr std::size_t list_share = 4; // a tree has one object for so many of its list
constexpr std::array<std::size_t, phases> longest = {120, 200, 40, 160, 80}; // letters of a text

struct Options {
    std::size_t scale = 100;
    std::size_t evaluations = 10;
    std::size_t threads = 1;
    const char *log = nullptr; // where to write what lives
    bool times = false;        // whether to say on standard error what each phase took
};

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

/// What a thread took in a phase.
struct Times {
    Seconds making{}, evaluating{}, freeing{};
};

/// A list and a tree.
class Piece {
  public:
    void make(std::uint64_t seed, std::size_t objects, std::size_t most_letters) {
        workload::Random random(seed);
        auto last = list_.before_begin();
        for (std::size_t n = 0; n < objects; ++n) {
            last = list_.insert_after(last, make_object(random, most_letters));
            if (n % list_share == 0) tree_.insert(make_object(random, most_letters));
        }
    }
    /// What they hold, which must be the same each time.
    [[gnu::noinline]] Word evaluate(Word time) {
        Word sum = 0;
        for (Object *object : list_) sum += read_and_modify(object, time);
        for (const Object *object : tree_) sum += 3 * read(object);
        return sum;
    }
    void free() {
        for (Object *object : list_) free_object(object);
        list_.clear();
        // Each before its node, which is not compared any more.
        while (!tree_.empty()) {
            Object *const object = *tree_.begin();
            tree_.erase(tree_.begin());
            free_object(object);
        }
    }

  private:
    std::forward_list<Object *, FromMalloc<Object *>> list_;
    std::multiset<Object *, ByContent, FromMalloc<Object *>> tree_;
};

using Sums = std::array<std::array<Word, pieces>, phases>;

/// What one of the threads does: every so manyth piece of each phase.
class Worker {
  public:
    Worker(const Options &options, std::size_t number, Sums &sums)
        : options_(options), number_(number), sums_(sums) {}

    void run() {
        std::array<Piece, pieces> own;
        for (std::size_t phase = 0; phase < phases; ++phase) {
            const auto began = Clock::now();
            make(own, phase);
            const auto made = Clock::now();
            evaluate(own, phase);
            const auto evaluated = Clock::now();
            for (std::size_t n = number_; n < pieces; n += options_.threads) own[n].free();
            times[phase] = {made - began, evaluated - made, Clock::now() - evaluated};
            if (log_file.wanted()) log_file.ended_phase();
        }
    }
    std::array<Times, phases> times{};
    bool changed = false; ///< whether something was not what had been put there

  private:
    void make(std::array<Piece, pieces> &own, std::size_t phase) const {
        const std::size_t objects = options_.scale * 1000 / pieces;
        for (std::size_t n = number_; n < pieces; n += options_.threads)
            own[n].make(phase * pieces + n + 1, objects, longest[phase]);
    }
    void evaluate(std::array<Piece, pieces> &own, std::size_t phase) {
        for (std::size_t time = 0; time < options_.evaluations; ++time)
            for (std::size_t n = number_; n < pieces; n += options_.threads) {
                const Word sum = own[n].evaluate(time);
                changed = changed || (time > 0 && sum != sums_[phase][n]);
                sums_[phase][n] = sum;
            }
    }

    const Options &options_;
    std::size_t number_;
    Sums &sums_;
};

bool read_number(const char *word, std::size_t &number) {
    const std::string_view digits = word;
    const auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc() && stop == digits.data() + digits.size() && number > 0;
}

bool read_options(int count, char **words, Options &options) {
    for (int at = 1; at < count; ++at) {
        const std::string_view word = words[at];
        const char *const next = at + 1 < count ? words[at + 1] : "";
        if (word == "--times") {
            options.times = true;
            continue;
        }
        if (word == "--log" && *next != '\0') {
            options.log = next;
            ++at;
            continue;
        }
        std::size_t *const number = word == "--scale"         ? &options.scale
                                    : word == "--evaluations" ? &options.evaluations
                                    : word == "--threads"     ? &options.threads
                                                              : nullptr;
        if (number != nullptr && read_number(next, *number) && options.threads <= pieces) {
            ++at;
            continue;
        }
        std::fprintf(
            stderr,
            "%s: cannot read '%s'; usage: %s [--scale N] [--evaluations N] [--threads N] [--log FILE] "
            "[--times], each N from 1, threads up to %zu\n",
            words[0], words[at], words[0], pieces);
        return false;
    }
    return true;
}

/// From the first thread's start to the last's end.
struct Whole {
    Seconds wall{};
    double cpu = 0; ///< seconds, of all threads
};

double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// A line a phase: seconds of making, evaluating and freeing, all threads together. And one of the whole: on
/// the clock, and on processors.
void say_times(const std::vector<Worker> &workers, const Whole &whole) {
    for (std::size_t phase = 0; phase < phases; ++phase) {
        Times all;
        for (const Worker &worker : workers) {
            all.making += worker.times[phase].making;
            all.evaluating += worker.times[phase].evaluating;
            all.freeing += worker.times[phase].freeing;
        }
        std::fprintf(stderr, "%.6f %.6f %.6f\n", all.making.count(), all.evaluating.count(),
                     all.freeing.count());
    }
    std::fprintf(stderr, "%.6f %.6f\n", whole.wall.count(), whole.cpu);
}

} // namespace

int main(int count, char **words) {
    Options options;
    if (!read_options(count, words, options)) return 2;
    if (options.log != nullptr && !log_file.open(options.log, options.threads)) return 2;
    Sums sums{};
    std::vector<Worker> workers;
    std::vector<std::thread> threads;
    workers.reserve(options.threads);
    threads.reserve(options.threads);
    for (std::size_t n = 0; n < options.threads; ++n) workers.emplace_back(options, n, sums);
    const auto began = Clock::now();
    const double used = cpu_seconds();
    // A thread of its own even for one: C libraries have a shorter way where there was never a second.
    for (Worker &worker : workers) threads.emplace_back([&worker] { worker.run(); });
    for (std::thread &thread : threads) thread.join();
    const Whole whole{.wall = Clock::now() - began, .cpu = cpu_seconds() - used};
    if (log_file.wanted()) log_file.last();
    workload::Checksum checksum;
    bool changed = false;
    for (const Worker &worker : workers) changed = changed || worker.changed;
    for (const auto &phase : sums)
        for (const Word sum : phase) checksum.add(sum);
    if (changed) {
        std::fputs("lists-and-trees: an object is not what it was\n", stderr);
        return 1;
    }
    if (options.times) say_times(workers, whole);
    std::printf("%zu phases of %zu000 objects\n", phases, options.scale);
    workload::print(checksum);
    return 0;
}
