#include <sys/mman.h>
#include <x86intrin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include "reap/layer/fixed_block.h"
#include "reap/source/huge_pages.h"
#include "reap/source/populated_pages.h"
#include "reap/source/system_pages.h"

// Blocks of 64 bytes, ten million of them, none null, all written: seed 004's table made honest.
//
//   bench-blocks CONTENDER COUNT [STAMPS]
//
// One contender a process. All blocks are allocated and their first and last words written; looked at; freed
// in the order of their allocation; and all that once more: the first time is cold, the second warm. Prints
// one JSON object.
//
// With STAMPS, the name of a file, each allocation with its writes is stamped. The file gets the differences
// of consecutive stamps as unsigned 32-bit ticks of the time stamp counter: COUNT cold ones, COUNT warm ones,
// and COUNT of the loop that does nothing but stamp. Percentiles are taken from these, totals from runs
// without.

namespace {

constexpr std::size_t block_bytes = 64;

[[noreturn]] void give_up(const char *what) {
    std::perror(what);
    std::exit(1);
}

/// An array that is resident before the clock starts, and that takes nothing from malloc.
template <class T>
T *resident_array(std::size_t count) {
    void *const pages = mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    if (pages == MAP_FAILED) give_up("bench-blocks: no memory for the harness");
    return static_cast<T *>(pages);
}

double cpu_ns() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

double wall_ns() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec);
}

long resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    long pages = 0;
    statm >> pages >> pages;
    return pages * 4096;
}

/// malloc of whatever library the process has: the C library's, or one that was preloaded.
class Malloc {
  public:
    void *allocate() { return std::malloc(block_bytes); }
    void free_one(void *block) { std::free(block); }
};

/// In chunks of 1 MB, or of 32 MB where a chunk should be made of huge pages of 2 MB.
template <class Source, std::size_t ChunkMb = 1>
class FixedBlock {
  public:
    void *allocate() { return blocks_.try_allocate(); }
    void free_one(void *block) { blocks_.deallocate(block); }

  private:
    static constexpr std::size_t chunk = ChunkMb << 20;

    reap::FixedBlock<Source> blocks_{block_bytes,
                                     reap::FixedBlockOptions{.first_chunk = chunk, .largest_chunk = chunk}};
};

/// Writes to a block what tells it from all others, at both ends.
void write(void *block, std::uint64_t number) {
    auto *const words = static_cast<std::uint64_t *>(block);
    words[0] = number;
    words[block_bytes / 8 - 1] = ~number;
}

bool intact(const void *block, std::uint64_t number) {
    const auto *const words = static_cast<const std::uint64_t *>(block);
    return words[0] == number && words[block_bytes / 8 - 1] == ~number;
}

struct Pass {
    double cpu_ns;
    double wall_ns;
    std::size_t nulls;
};

template <class Contender>
Pass allocate_all(Contender &contender, void **blocks, std::size_t count) {
    std::size_t nulls = 0;
    const double wall = wall_ns();
    const double begun = cpu_ns();
    for (std::size_t number = 0; number < count; ++number) {
        void *const block = contender.allocate();
        blocks[number] = block;
        if (block == nullptr) [[unlikely]] {
            ++nulls;
            continue;
        }
        write(block, number);
    }
    return {cpu_ns() - begun, wall_ns() - wall, nulls};
}

template <class Contender>
Pass allocate_stamped(Contender &contender, void **blocks, std::size_t count, std::uint32_t *ticks) {
    std::size_t nulls = 0;
    std::uint64_t last = __rdtsc();
    for (std::size_t number = 0; number < count; ++number) {
        void *const block = contender.allocate();
        blocks[number] = block;
        if (block == nullptr) [[unlikely]] {
            ++nulls;
        } else {
            write(block, number);
        }
        const std::uint64_t now = __rdtsc();
        ticks[number] = static_cast<std::uint32_t>(now - last);
        last = now;
    }
    return {0, 0, nulls};
}

/// What stamping itself takes: the same loop over the same arrays, without an allocator.
void stamp_nothing(void **blocks, std::size_t count, std::uint32_t *ticks) {
    std::uint64_t last = __rdtsc();
    for (std::size_t number = 0; number < count; ++number) {
        blocks[number] = blocks;
        const std::uint64_t now = __rdtsc();
        ticks[number] = static_cast<std::uint32_t>(now - last);
        last = now;
    }
}

double ticks_per_ns() {
    const double begun = wall_ns();
    const std::uint64_t first = __rdtsc();
    while (wall_ns() - begun < 50e6) continue;
    return static_cast<double>(__rdtsc() - first) / (wall_ns() - begun);
}

template <class Contender>
int run(std::size_t count, const char *stamps) {
    void **const blocks = resident_array<void *>(count);
    auto *const ticks = stamps != nullptr ? resident_array<std::uint32_t>(3 * count) : nullptr;
    const long before = resident_bytes();
    auto *const contender = ::new (resident_array<Contender>(1)) Contender; // lives as long as the process

    std::array<Pass, 2> passes{};
    double freed_ns = 0;
    long grown = 0;
    for (std::size_t pass = 0; pass < passes.size(); ++pass) {
        passes[pass] = ticks != nullptr ? allocate_stamped(*contender, blocks, count, ticks + pass * count)
                                        : allocate_all(*contender, blocks, count);
        if (pass == 0) grown = resident_bytes() - before;
        for (std::size_t number = 0; number < count; ++number) {
            if (blocks[number] == nullptr || intact(blocks[number], number)) continue;
            std::fprintf(stderr, "bench-blocks: block %zu is not what was written there\n", number);
            return 1;
        }
        const double begun = cpu_ns();
        for (std::size_t number = 0; number < count; ++number) contender->free_one(blocks[number]);
        freed_ns = cpu_ns() - begun;
    }
    if (ticks != nullptr) {
        stamp_nothing(blocks, count, ticks + 2 * count);
        std::ofstream file(stamps, std::ios::binary);
        file.write(reinterpret_cast<const char *>(ticks),
                   static_cast<std::streamsize>(3 * count * sizeof *ticks));
        if (!file) give_up(stamps);
    }
    std::printf(
        "{\"cold_cpu_ns\": %.0f, \"cold_wall_ns\": %.0f, \"warm_cpu_ns\": %.0f, \"warm_wall_ns\": %.0f, "
        "\"free_cpu_ns\": %.0f, \"nulls\": %zu, \"resident_bytes\": %ld, \"ticks_per_ns\": %.6f}\n",
        passes[0].cpu_ns, passes[0].wall_ns, passes[1].cpu_ns, passes[1].wall_ns, freed_ns,
        passes[0].nulls + passes[1].nulls, grown, ticks_per_ns());
    return 0;
}

} // namespace

int main(int argc, char **argv) {
    if (argc < 3) {
        std::fprintf(stderr,
                     "usage: bench-blocks malloc|system|populated|huge|huge-populated COUNT [STAMPS]\n");
        return 2;
    }
    const std::string_view contender = argv[1];
    const std::size_t count = std::strtoull(argv[2], nullptr, 10);
    const char *const stamps = argc > 3 ? argv[3] : nullptr;
    if (contender == "malloc") return run<Malloc>(count, stamps);
    if (contender == "system") return run<FixedBlock<reap::SystemPages>>(count, stamps);
    if (contender == "populated") return run<FixedBlock<reap::PopulatedPages<>>>(count, stamps);
    if (contender == "huge") return run<FixedBlock<reap::HugePages, 32>>(count, stamps);
    if (contender == "huge-populated")
        return run<FixedBlock<reap::PopulatedPages<reap::HugePages>, 32>>(count, stamps);
    std::fprintf(stderr, "bench-blocks: no contender is called %s\n", argv[1]);
    return 2;
}
