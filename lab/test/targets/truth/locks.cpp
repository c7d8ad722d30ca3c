// Threads under a lock that the program holds around malloc, which needs none.
#include "modes.h"
#include "threads.h"

#include <cstring>
#include <map>
#include <mutex>
#include <unordered_map>

namespace {

std::mutex lock;

// Twenty blocks, then their end, `turns` times, of what `allocate` and `release` are.
template <typename Allocate, typename Release>
std::uint64_t blocks(long turns, const Allocate &allocate, const Release &release) {
    enum { BLOCKS = 20 };
    char *block[BLOCKS];
    std::uint64_t sum = 0;
    for (; turns > 0; turns--) {
        for (int at = 0; at < BLOCKS; at++) {
            block[at] = static_cast<char *>(allocate(static_cast<std::size_t>(40 + at * 8)));
            std::memset(block[at], at, 40);
        }
        for (int at = 0; at < BLOCKS; at++) {
            sum += static_cast<std::uint64_t>(block[at][3]);
            release(block[at]);
        }
    }
    return sum;
}

// A runtime's wrapper takes one mutex around each call. Cured, it does not.
[[gnu::noinline]] void *wrapped_malloc(std::size_t size) {
    if (cured) return std::malloc(size);
    const std::lock_guard guard(lock);
    return std::malloc(size);
}

[[gnu::noinline]] void wrapped_free(void *block) {
    if (cured) return std::free(block);
    const std::lock_guard guard(lock);
    std::free(block);
}

void wrapper(double scale) {
    const long turns = static_cast<long>(160000 * scale);
    std::printf("%lu\n", in_threads(4, [&](int) { return blocks(turns, wrapped_malloc, wrapped_free); }));
}

// Hooks look up each block in a map of registered memory, under one lock. Cured, they are switched off.
void hooks(double scale) {
    static std::map<std::uintptr_t, std::size_t> registered;
    std::uint64_t state = 1;
    for (std::size_t at = 0; at < 4000; at++) registered[next_number(&state) << 16] = 2 + at;
    const auto look = [](const void *block) {
        const std::lock_guard guard(lock);
        const auto found = registered.upper_bound(reinterpret_cast<std::uintptr_t>(block));
        return found == registered.end() ? 0 : found->second;
    };
    const auto allocate = [&](std::size_t size) {
        void *block = std::malloc(size);
        if (!cured && look(block) == 1) std::abort();
        return block;
    };
    const auto release = [&](void *block) {
        if (!cured && look(block) == 1) std::abort();
        std::free(block);
    };
    const long turns = static_cast<long>(50000 * scale);
    std::printf("%lu\n", in_threads(4, [&](int) { return blocks(turns, allocate, release); }));
}

// A table of all live blocks, which one lock guards. Cured, small blocks are below its threshold.
void tracking(double scale) {
    enum { SLOTS = 4096 };
    static std::uintptr_t table[SLOTS];
    static std::size_t live;
    const auto slot = [](std::uintptr_t block) { return block * 11400714819323198485u >> 52; };
    const auto allocate = [&](std::size_t size) {
        void *block = std::malloc(size);
        if (cured) return block;
        const std::lock_guard guard(lock);
        table[slot(reinterpret_cast<std::uintptr_t>(block))] += size;
        live++;
        return block;
    };
    const auto release = [&](void *block) {
        if (!cured) {
            const std::lock_guard guard(lock);
            table[slot(reinterpret_cast<std::uintptr_t>(block))] = 0;
            live--;
        }
        std::free(block);
    };
    const long turns = static_cast<long>(160000 * scale);
    const std::uint64_t sum = in_threads(3, [&](int) { return blocks(turns, allocate, release); });
    std::printf("%lu %lu\n", sum, live);
}

// A heap of the program's own keeps freed blocks in lists, which one lock guards; malloc is called a few
// times in all. Cured, each thread has its lists.
struct Heap {
    struct Free {
        Free *next;
    };
    Free *lists[16] = {};

    void *take(std::size_t size) {
        Free *&first = lists[size / 16];
        if (first == nullptr) return std::malloc(size / 16 * 16 + 16);
        Free *const block = first;
        first = block->next;
        return block;
    }

    void give(void *block, std::size_t size) {
        auto *const freed = static_cast<Free *>(block);
        freed->next = lists[size / 16];
        lists[size / 16] = freed;
    }
};

void heap(double scale) {
    static Heap shared;
    const long turns = static_cast<long>(6000000 * scale);
    const auto work = [&](int) {
        Heap own;
        std::uint64_t sum = 0;
        for (long turn = 0; turn < turns; turn++) {
            const auto size = static_cast<std::size_t>(32 + turn % 7 * 24);
            void *block = nullptr;
            if (cured) {
                block = own.take(size);
            } else {
                const std::lock_guard guard(lock);
                block = shared.take(size);
            }
            *static_cast<char *>(block) = static_cast<char>(turn & 63);
            sum += static_cast<std::uint64_t>(*static_cast<char *>(block));
            if (cured) {
                own.give(block, size);
            } else {
                const std::lock_guard guard(lock);
                shared.give(block, size);
            }
        }
        return sum;
    };
    std::printf("%lu\n", in_threads(3, work));
}

// Each allocation is first reserved against a limit, under one lock. Cured, a thread reserves a megabyte at a
// time.
void reservation(double scale) {
    static std::size_t reserved;
    static thread_local std::size_t own;
    const auto reserve = [](std::size_t size) {
        const std::lock_guard guard(lock);
        reserved += size;
        if (reserved > (std::size_t{1} << 40)) std::abort();
    };
    const auto allocate = [&](std::size_t size) {
        if (!cured) {
            reserve(size);
        } else if (own < size) {
            reserve(1 << 20);
            own += 1 << 20;
        }
        own -= cured ? size : 0;
        return std::malloc(size);
    };
    const auto release = [](void *block) { std::free(block); };
    const long turns = static_cast<long>(240000 * scale);
    std::printf("%lu\n", in_threads(4, [&](int) { return blocks(turns, allocate, release); }));
}

} // namespace

int main(int count, char **words) {
    static const mode modes[] = {{"wrapper", wrapper},
                                 {"hooks", hooks},
                                 {"tracking", tracking},
                                 {"heap", heap},
                                 {"reservation", reservation}};
    return run_mode(modes, std::size(modes), count, words);
}
