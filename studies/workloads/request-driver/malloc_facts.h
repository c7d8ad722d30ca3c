#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <malloc.h>
#include <set>
#include <sys/resource.h>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "ask.h"
#include "cost.h"
#include "requests.h"

// What allocators are made of, asked of themselves: arenas, caches, classes, thresholds.

namespace facts {

/// `arenas`: how many glibc makes for so many threads that all hold memory.
inline void arenas(const ask::Words &words) {
    const std::size_t threads = words.number("threads", 64);
    std::barrier together(static_cast<std::ptrdiff_t>(threads + 1));
    std::vector<std::thread> running;
    running.reserve(threads);
    for (std::size_t n = 0; n < threads; ++n)
        running.emplace_back([&together] {
            void *const held = std::malloc(2000);
            requests::seen(held);
            together.arrive_and_wait();
            together.arrive_and_wait();
            std::free(held);
        });
    together.arrive_and_wait();
    char *text = nullptr;
    std::size_t size = 0, heaps = 0;
    std::FILE *const file = open_memstream(&text, &size);
    malloc_info(0, file);
    std::fclose(file);
    for (const char *at = text; (at = std::strstr(at, "<heap nr=")) != nullptr; ++at) ++heaps;
    together.arrive_and_wait();
    for (std::thread &each : running) each.join();
    std::free(text);
    ask::Answer said;
    said.add("arenas", static_cast<double>(heaps));
}

/// `cache`: of batches of so many objects, made and then freed, which share goes past the thread's cache to
/// the arena. What the arena says is in use changes by exactly those.
inline void cache(const ask::Words &words) {
    const std::size_t size = words.number("size", 64), batch = words.number("batch", 100);
    std::size_t made_past = 0, freed_past = 0;
    constexpr std::size_t rounds = 20;
    std::thread([&] { // a second thread: glibc takes another way while there is but one
        std::vector<void *> held(batch);
        // What is in use, and what is free in fastbins: either changes where the arena is asked.
        const auto state = [] {
            const struct mallinfo2 info = mallinfo2();
            return std::pair(info.uordblks, info.fsmblks);
        };
        for (std::size_t round = 0; round < rounds + 5; ++round) {
            const bool counts = round >= 5;
            auto before = state();
            for (void *&each : held) {
                each = std::malloc(size);
                requests::seen(each);
                const auto after = state();
                if (counts && after != before) ++made_past;
                before = after;
            }
            for (void *const each : held) {
                std::free(each);
                const auto after = state();
                if (counts && after != before) ++freed_past;
                before = after;
            }
        }
    })
        .join();
    ask::Answer said;
    const auto all = static_cast<double>(rounds * batch);
    said.add("made_past", static_cast<double>(made_past) / all);
    said.add("freed_past", static_cast<double>(freed_past) / all);
}

/// `threshold`: blocks of random sizes between two, made and freed one by one; how often that is slow.
inline void threshold(const ask::Words &words) {
    const std::size_t low = words.number("low", 100 << 10), high = words.number("high", 200 << 10);
    const std::size_t turns = words.number("turns", 4000);
    const bool touch = words.number("touch", 0) != 0;
    constexpr double slow = 1500; // nanoseconds; without a system call it is under 200, with one over 2000
    workload::Random random(5);
    std::vector<double> quick_ones, slow_ones;
    rusage before{}, after{};
    double took_cpu = 0; // what else runs on the machine faults nothing in
    std::thread([&] {
        const double begun = ask::cpu_ns();
        getrusage(RUSAGE_THREAD, &before);
        for (std::size_t n = 0; n < turns; ++n) {
            const std::size_t size = low + random.below(high - low + 1);
            const double start = ask::wall_ns();
            auto *const made = static_cast<char *>(std::malloc(size));
            if (made == nullptr) std::abort();
            if (touch)
                for (std::size_t at = 0; at < size; at += 4096) made[at] = 1;
            requests::seen(made);
            std::free(made);
            const double took = ask::wall_ns() - start;
            (took > slow ? slow_ones : quick_ones).push_back(took);
        }
        getrusage(RUSAGE_THREAD, &after);
        took_cpu = ask::cpu_ns() - begun;
    }).join();
    ask::Answer said;
    const double faults = static_cast<double>(after.ru_minflt - before.ru_minflt);
    said.add("slow_share", static_cast<double>(slow_ones.size()) / static_cast<double>(turns));
    if (!quick_ones.empty()) said.add("quick_ns", cost::middle(quick_ones));
    if (!slow_ones.empty()) said.add("slow_ns", cost::middle(slow_ones));
    quick_ones.insert(quick_ones.end(), slow_ones.begin(), slow_ones.end());
    said.add("pair_ns", cost::middle(quick_ones));
    said.add("faults_per_second", 1e9 * faults / took_cpu);
}

/// `classes`: into how many sizes the allocator rounds all up to a largest.
inline void classes(const ask::Words &words) {
    const std::size_t largest = words.number("largest", 256 << 10);
    std::set<std::size_t> found;
    for (std::size_t size = 1; size <= largest; size += size < 1024 ? 1 : 8) {
        void *const made = std::malloc(size);
        found.insert(malloc_usable_size(made));
        std::free(made);
    }
    ask::Answer said;
    said.add("classes", static_cast<double>(found.size()));
}

using Control = int (*)(const char *, void *, std::size_t *, void *, std::size_t);

template <class Value>
void tell(ask::Answer &said, Control control, const char *name, const char *as) {
    Value value{};
    std::size_t size = sizeof value;
    if (control(name, &value, &size, nullptr, 0) == 0) said.add(as, static_cast<double>(value));
}

/// `jemalloc`: what jemalloc says of itself. Nothing where another allocator serves.
inline void jemalloc(const ask::Words & /*words*/) {
    const auto control = reinterpret_cast<Control>(dlsym(RTLD_DEFAULT, "mallctl"));
    if (control == nullptr) return;
    ask::Answer said;
    tell<unsigned>(said, control, "arenas.nbins", "small_classes");
    tell<unsigned>(said, control, "arenas.nlextents", "large_classes");
    tell<unsigned>(said, control, "opt.narenas", "arenas");
    tell<ssize_t>(said, control, "opt.dirty_decay_ms", "dirty_decay_ms");
    tell<ssize_t>(said, control, "opt.muzzy_decay_ms", "muzzy_decay_ms");
    tell<bool>(said, control, "opt.background_thread", "background_thread");
    const char *mode = nullptr;
    std::size_t size = sizeof mode;
    if (control("opt.percpu_arena", static_cast<void *>(&mode), &size, nullptr, 0) == 0)
        said.add("by_processor", std::strcmp(mode, "disabled") != 0 ? 1 : 0);
}

/// `receive`: what it costs to receive 4 KB from a socket of this machine, in nanoseconds of processor.
inline void receive(const ask::Words & /*words*/) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0) return;
    std::vector<char> text(4096, 'x');
    std::vector<double> took;
    for (int batch = 0; batch < 200; ++batch) {
        for (int n = 0; n < 8; ++n)
            if (write(ends[0], text.data(), text.size()) != 4096) return;
        const double begun = ask::cpu_ns();
        for (int n = 0; n < 8; ++n)
            if (recv(ends[1], text.data(), text.size(), MSG_WAITALL) != 4096) return;
        took.push_back((ask::cpu_ns() - begun) / 8);
    }
    ask::Answer said;
    said.add("receive_ns", cost::middle(took));
}

} // namespace facts
