// Programs whose memory stays after their work. Each works, then idles for at least twice as long, so that
// the second half of its run is steady. Cured, memory is returned, or never taken.
#include "../modes.h"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <malloc.h>
#include <mutex>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#ifdef LINKED_MIMALLOC
extern "C" void *mi_malloc(std::size_t size);
extern "C" void mi_free(void *block);
#define take mi_malloc
#define give mi_free
#else
#define take std::malloc
#define give std::free
#endif

namespace {

using Clock = std::chrono::steady_clock;
const Clock::time_point begin = Clock::now();

void idle(double scale) {
    std::this_thread::sleep_for(2 * (Clock::now() - begin) + std::chrono::duration<double>(3 * scale));
}

std::size_t scaled(double number, double scale) { return static_cast<std::size_t>(number * scale) + 1; }

char *filled(std::size_t size) {
    auto *block = static_cast<char *>(take(size));
    if (!block) std::abort();
    std::memset(block, 1, size);
    return block;
}

// Blocks of 200 bytes until `bytes` are in them; one in `every` stays, the others are freed. With 0 all are.
std::size_t burst(std::size_t bytes, std::size_t every) {
    std::vector<char *> blocks(bytes / 200);
    for (auto *&block : blocks) block = filled(200);
    std::size_t kept = 0;
    for (std::size_t at = 0; at < blocks.size(); at++) {
        if (every && at % every == every - 1)
            kept++;
        else
            give(blocks[at]);
    }
    return kept;
}

// A state is decoded into a tree, which is freed; what was copied from it for later lies in between.
void decoded(double scale) {
    std::printf("%zu\n", burst(scaled(100e6, scale), 500));
    if (cured) malloc_trim(0);
    idle(scale);
}

// All blocks are freed but one, above them.
void above(double scale) {
    const std::size_t bytes = scaled(120e6, scale);
    std::printf("%zu\n", burst(bytes, bytes / 200));
    if (cured) malloc_trim(0);
    idle(scale);
}

// Runs `work` in threads that all wait until the last one has done it and the program has idled. One after
// another where `turns` says so.
template <typename Work>
void in_waiting_threads(std::size_t count, double scale, bool turns, const Work &work) {
    std::mutex turn;
    std::atomic<std::size_t> done{0};
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (std::size_t at = 0; at < count; at++)
        threads.emplace_back([&, at] {
            if (turns) {
                const std::lock_guard lock(turn);
                work(at);
            } else {
                work(at);
            }
            done++;
            over.wait(false);
        });
    while (done < count) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (cured) malloc_trim(0);
    std::printf("%zu\n", done.load());
    std::fflush(stdout);
    idle(scale);
    over = true;
    over.notify_all();
    for (auto &thread : threads) thread.join();
}

// Each thread of a pool has answered a request, one after another, and keeps its answer.
void handlers(double scale) {
    in_waiting_threads(16, scale, true, [&](std::size_t) {
        const std::size_t bytes = scaled(8e6, scale) + 200;
        burst(bytes, bytes / 200);
    });
}

// Buffers of images, all larger than the mmap threshold is at first, and a small picture of each that stays.
void ratchet(double scale) {
    in_waiting_threads(8, scale, false, [&](std::size_t thread) {
        std::uint64_t state = thread;
        for (std::size_t image = scaled(60, scale); image > 0; image--) {
            char *buffer[6];
            for (auto *&each : buffer) {
                const std::size_t size = 200000 + next_number(&state) % 3000000;
                each = static_cast<char *>(take(size));
                for (std::size_t at = 0; at < size; at += 4096) each[at] = 1;
            }
            filled(3000 + next_number(&state) % 1000);
            for (char *each : buffer) give(each);
        }
    });
}

// A burst of blocks of many sizes, all freed, and then nothing: no call of malloc that could return them.
void spike(double scale) {
    std::vector<char *> blocks(scaled(200000, scale));
    for (std::size_t at = 0; at < blocks.size(); at++) blocks[at] = filled(100 + at % 900);
    for (char *block : blocks) give(block);
    std::printf("%zu\n", blocks.size());
    idle(scale);
}

// The same in threads that then wait: an allocator that purges some milliseconds later, when it is called, is
// not called.
void workers(double scale) {
    in_waiting_threads(6, scale, false, [&](std::size_t) {
        std::vector<char *> blocks(scaled(30000, scale));
        for (std::size_t at = 0; at < blocks.size(); at++) blocks[at] = filled(100 + at * 37 % 1900);
        for (char *block : blocks) give(block);
    });
}

// Three of five values are deleted, all over the memory. Cured, those were never stored.
void keys(double scale) {
    std::vector<char *> values(scaled(300000, scale));
    std::uint64_t state = 1;
    std::size_t deleted = 0;
    std::vector<bool> goes(values.size());
    for (std::size_t at = 0; at < values.size(); at++) goes[at] = next_number(&state) % 5 < 3;
    for (std::size_t at = 0; at < values.size(); at++)
        if (!cured || !goes[at]) values[at] = filled(100 + at % 400);
    for (std::size_t at = 0; at < values.size(); at++) {
        deleted += goes[at];
        if (goes[at] && values[at]) give(values[at]);
    }
    std::printf("%zu\n", deleted);
    idle(scale);
}

// A large buffer raises the thresholds when it is freed; what is freed at the top later is below them.
void thresholds(double scale) {
    if (!cured) give(filled(scaled(30e6, scale) + 150000));
    std::printf("%zu\n", burst(scaled(50e6, scale), 0));
    idle(scale);
}

// Packets go back to a list of the program's own, which never gets shorter. Cured, it has a limit.
void packets(double scale) {
    std::vector<char *> idle_packets, used(scaled(50000, scale));
    idle_packets.reserve(used.size());
    for (auto *&packet : used) packet = filled(2000);
    for (char *packet : used)
        if (cured && idle_packets.size() >= 100)
            give(packet);
        else
            idle_packets.push_back(packet);
    std::printf("%zu\n", used.size());
    idle(scale);
}

// Tensors in a file in memory, which workers would map as well.
void tensors(double scale) {
    const std::size_t size = scaled(100e6, scale);
    const int file = memfd_create("tensors", 0);
    if (file < 0 || ftruncate(file, static_cast<off_t>(size)) != 0) std::abort();
    void *const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (mapped == MAP_FAILED) std::abort();
    std::memset(mapped, 1, size);
    std::printf("%zu\n", size);
    if (cured && (munmap(mapped, size) != 0 || close(file) != 0)) std::abort();
    idle(scale);
}

// A child saves what is in memory while the parent changes all of it. Cured, it has ended before.
void saving(double scale) {
    std::vector<char *> values(scaled(200000, scale));
    for (auto *&value : values) value = filled(400);
    int ends[2];
    if (pipe(ends) != 0) std::abort();
    const pid_t child = fork();
    if (child < 0) std::abort();
    if (child == 0) {
        close(ends[1]);
        char last;
        if (!cured && read(ends[0], &last, 1) < 0) _exit(1); // until the parent closes its end
        _exit(0);
    }
    if (cured) waitpid(child, nullptr, 0);
    for (char *value : values) std::memset(value, 2, 400);
    std::printf("%zu\n", values.size());
    std::fflush(stdout);
    idle(scale);
    close(ends[1]);
    if (!cured) waitpid(child, nullptr, 0);
}

// A buffer of 16 KB in each 2 MB, which are huge pages. Cured, they are not.
void buffers(double scale) {
    enum { HUGE = 2 << 20 };
    const std::size_t size = scaled(80, scale) * HUGE;
    auto *const aligned = static_cast<char *>(std::aligned_alloc(HUGE, size));
    if (!aligned) std::abort();
    madvise(aligned, size, cured ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
    for (std::size_t at = 0; at < size; at += HUGE) std::memset(aligned + at, 1, 16384);
    std::printf("%zu\n", size / HUGE);
    idle(scale);
}

// Threads with a few small blocks each, for an allocator with huge pages.
void many(double scale) {
    in_waiting_threads(scaled(100, scale), scale, false, [&](std::size_t thread) {
        for (std::size_t at = 0; at < 16; at++) filled(2000 + at * 100 + thread % 7);
        give(filled(300000));
    });
}

int deep(std::size_t frames) {
    volatile char frame[4096];
    std::memset(const_cast<char *>(frame), static_cast<int>(frames), sizeof frame);
    return frames ? deep(frames - 1) + frame[7] : 0;
}

// Threads that each called deeply once. Cured, one of them did it for all.
void stacks(double scale) {
    enum { THREADS = 40 };
    std::atomic<std::size_t> done{0};
    const std::size_t frames = scaled(600, scale < 1 ? scale : 1);
    pthread_attr_t large;
    pthread_attr_init(&large);
    pthread_attr_setstacksize(&large, 8 << 20);
    struct Shared {
        std::atomic<std::size_t> *done;
        std::size_t frames;
    } shared{&done, frames};
    const auto run = [](void *given) -> void * {
        auto *const with = static_cast<Shared *>(given);
        const std::size_t number = (*with->done)++;
        if (!cured || number == 0) deep(with->frames);
        (*with->done) += 1000;
        for (;;) pause();
    };
    for (int at = 0; at < THREADS; at++) {
        pthread_t thread;
        if (pthread_create(&thread, &large, run, &shared) != 0) std::abort();
    }
    while (done < THREADS * 1001ul) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    std::printf("%zu\n", done.load());
    std::fflush(stdout);
    idle(scale);
    _exit(0);
}

} // namespace

int main(int count, char **words) {
    setvbuf(stdout, nullptr, _IOLBF, BUFSIZ);
    static const mode modes[] = {
        {"decoded", decoded}, {"above", above},           {"handlers", handlers}, {"ratchet", ratchet},
        {"spike", spike},     {"workers", workers},       {"keys", keys},         {"packets", packets},
        {"tensors", tensors}, {"thresholds", thresholds}, {"saving", saving},     {"buffers", buffers},
        {"many", many},       {"stacks", stacks}};
    return run_mode(modes, std::size(modes), count, words);
}
