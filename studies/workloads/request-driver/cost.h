#pragma once

#include <algorithm>
#include <atomic>
#include <barrier>
#include <csignal>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

#include "ask.h"
#include "requests.h"

// What an allocation costs by how many a request makes, on one thread or more at once. A block of requests in
// the memory that is asked for follows one without allocation, again and again, so that both meet the same
// machine.

namespace cost {

struct Block {
    double cpu = 0;    ///< nanoseconds a request
    double sleeps = 0; ///< a request: how often the thread gave up its processor
};

inline std::atomic<bool> watched = false; ///< whether allocations go on, and no floor

inline double sleeps() {
    rusage used{};
    getrusage(RUSAGE_THREAD, &used);
    return static_cast<double>(used.ru_nvcsw);
}

inline double middle(std::vector<double> values) {
    const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), half, values.end());
    return *half;
}

struct Asked {
    std::size_t objects;
    std::size_t threads;
    std::size_t work; ///< bytes of text that a request reads
    double block_ns;  ///< about so long is a block
    std::size_t blocks;
    std::string memory;
};

template <class Memory>
Block block(Memory &memory, std::vector<void *> &made, const Asked &asked, std::size_t requests,
            std::uint64_t &sum) {
    const double cpu = ask::cpu_ns(), slept = sleeps();
    for (std::size_t n = 0; n < requests; ++n)
        sum += requests::answer(memory, made, asked.objects, asked.work, n);
    const auto count = static_cast<double>(requests);
    return {(ask::cpu_ns() - cpu) / count, (sleeps() - slept) / count};
}

/// What all threads saw.
struct Seen {
    std::vector<std::vector<Block>> floor, own; ///< by block, by thread
    std::vector<double> wall; ///< by block of allocations: nanoseconds until all had ended it
    std::size_t requests = 0; ///< in a block, of each thread
};

inline Seen run(const Asked &asked) {
    Seen seen{.floor = std::vector(asked.blocks, std::vector<Block>(asked.threads)),
              .own = std::vector(asked.blocks, std::vector<Block>(asked.threads)),
              .wall = std::vector<double>(asked.blocks)};
    std::barrier together(static_cast<std::ptrdiff_t>(asked.threads));
    std::vector<std::thread> threads;
    threads.reserve(asked.threads);
    for (std::size_t which = 0; which < asked.threads; ++which)
        threads.emplace_back([&, which] {
            std::vector<void *> made(std::max<std::size_t>(asked.objects, 1));
            requests::Fixed fixed(asked.objects);
            std::uint64_t sum = 0;
            requests::with(asked.memory, asked.objects, [&](auto &&memory) {
                constexpr std::size_t trial = 50;
                together.arrive_and_wait();
                block(memory, made, asked, trial, sum);
                if (which == 0) {
                    const double each = block(memory, made, asked, trial, sum).cpu;
                    seen.requests =
                        std::max<std::size_t>(10, static_cast<std::size_t>(asked.block_ns / each));
                }
                together.arrive_and_wait();
                for (std::size_t n = 0; n < asked.blocks; ++n) {
                    seen.floor[n][which] = block(fixed, made, asked, seen.requests, sum);
                    together.arrive_and_wait();
                    const double begun = ask::wall_ns();
                    watched = true;
                    seen.own[n][which] = block(memory, made, asked, seen.requests, sum);
                    together.arrive_and_wait();
                    watched = false;
                    if (which == 0) seen.wall[n] = ask::wall_ns() - begun;
                    together.arrive_and_wait();
                }
                return true;
            });
            requests::seen(&sum);
        });
    for (std::thread &each : threads) each.join();
    return seen;
}

/// By block, the mean over its threads.
template <class Take>
std::vector<double> means(const std::vector<std::vector<Block>> &blocks, Take take) {
    std::vector<double> found;
    for (const std::vector<Block> &threads : blocks) {
        double all = 0;
        for (const Block &each : threads) all += take(each);
        found.push_back(all / static_cast<double>(threads.size()));
    }
    return found;
}

inline Asked read(const ask::Words &words) {
    return {.objects = words.number("objects", 10),
            .threads = std::max<std::size_t>(words.number("threads", 1), 1),
            .work = words.number("work", 256),
            .block_ns = static_cast<double>(words.number("block_us", 2000)) * 1e3,
            .blocks = std::max<std::size_t>(words.number("blocks", 5), 1),
            .memory = words.word("memory", "malloc")};
}

/// Medians over blocks of what every ask of this kind says.
inline void say(ask::Answer &said, const Asked &asked, const Seen &seen) {
    const std::vector<double> floor = means(seen.floor, [](const Block &each) { return each.cpu; });
    const std::vector<double> own = means(seen.own, [](const Block &each) { return each.cpu; });
    std::vector<double> excess, off;
    const auto threads = static_cast<double>(asked.threads);
    const auto requests = static_cast<double>(seen.requests);
    for (std::size_t n = 0; n < own.size(); ++n) {
        excess.push_back((own[n] - floor[n]) / static_cast<double>(std::max<std::size_t>(asked.objects, 1)));
        off.push_back(std::max(0.0, 1 - own[n] * requests / seen.wall[n]));
    }
    said.add("floor_ns", middle(floor));
    said.add("own_ns", middle(own));
    said.add("excess_ns", middle(excess));
    said.add("off_cpu", middle(off));
    said.add("rate", 1e9 * threads * requests / middle(seen.wall));
    said.add("sleeps_per_1000",
             1000 * middle(means(seen.own, [](const Block &each) { return each.sleeps; })));
}

inline void answer(const ask::Words &words) {
    const Asked asked = read(words);
    const Seen seen = run(asked);
    ask::Answer said;
    say(said, asked, seen);
}

// Where on a processor the threads are, by samples of the instruction pointer: in the C library's waiting for
// a lock?

inline std::uintptr_t lock_begin = 0, lock_end = 0;
inline volatile std::sig_atomic_t samples = 0, in_lock = 0;

extern "C" inline void request_driver_sample(int /*signal*/, siginfo_t * /*about*/, void *context) {
#if defined(__x86_64__)
    const auto at =
        static_cast<std::uintptr_t>(static_cast<ucontext_t *>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
    const auto at = static_cast<std::uintptr_t>(static_cast<ucontext_t *>(context)->uc_mcontext.pc);
#else
    const std::uintptr_t at = 0;
#endif
    if (!watched) return;
    samples = samples + 1;
    if (at >= lock_begin && at < lock_end) in_lock = in_lock + 1;
}

/// Where the C library's malloc waits for a lock; false where this one has no such function.
inline bool find_lock() {
    void *const place = dlsym(RTLD_DEFAULT, "__lll_lock_wait_private");
    Dl_info info{};
    void *symbol = nullptr;
    if (place == nullptr || dladdr1(place, &info, &symbol, RTLD_DL_SYMENT) == 0 || symbol == nullptr)
        return false;
    lock_begin = reinterpret_cast<std::uintptr_t>(place);
    lock_end = lock_begin + static_cast<const ElfW(Sym) *>(symbol)->st_size;
    return true;
}

inline void sample_every(suseconds_t microseconds) {
    const itimerval every{.it_interval = {.tv_sec = 0, .tv_usec = microseconds},
                          .it_value = {.tv_sec = 0, .tv_usec = microseconds}};
    setitimer(ITIMER_PROF, &every, nullptr);
}

/// `locks`: what `cost` says, and the share of on-processor samples in `__lll_lock_wait_private`, where glibc
/// waits.
inline void locks(const ask::Words &words) {
    const bool known = find_lock();
    struct sigaction action{};
    action.sa_sigaction = request_driver_sample;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaction(SIGPROF, &action, nullptr);
    const Asked asked = read(words);
    sample_every(known ? 1000 : 0);
    const Seen seen = run(asked);
    sample_every(0);
    ask::Answer said;
    if (known && samples > 0) {
        said.add("samples", samples);
        said.add("on_cpu_share", static_cast<double>(in_lock) / samples);
    }
    say(said, asked, seen);
}

} // namespace cost
