#include "glibc/process_heaps.h"

#include <algorithm>
#include <ctime>
#include <mutex>
#include <string>

#include "glibc/other_memory.h"
#include "heaps.h"
#include "mapped_blocks.h"

namespace reap::native {
namespace {

constexpr uint64_t kAtFirst = 2'000'000'000; // nanoseconds that reading any process may take,
constexpr uint64_t kPerPage = 6'000;         // and for each resident page: three walks of a heap that changes
constexpr uint64_t kPage = 4096;
constexpr uint64_t kMostData = uint64_t{1} << 20; // bytes; a C library has some 20,000
constexpr uint64_t kSecond = 1'000'000'000;

uint64_t read_clock(clockid_t clock) noexcept {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * kSecond + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace

std::optional<ProcessHeaps> walk_heaps(pid_t process, const HeapPlaces &places) {
    static std::mutex one; // the walks have buffers of the program's
    const std::scoped_lock lock(one);
    const OtherMemory memory(process, kAtFirst + kPerPage * (places.resident / kPage));
    if (!memory.readable()) return std::nullopt;
    const uint64_t begin = read_clock(CLOCK_THREAD_CPUTIME_ID);
    glibc::Heaps heaps;
    const uint64_t data_end = std::min(places.data_end, places.data_begin + kMostData);
    heaps.start(("2." + std::to_string(places.minor)).c_str(), places.data_begin, data_end,
                places.first_break);
    const uint64_t bytes = heaps.system_bytes();
    const int ending = 0;
    glibc::Heaps::Found found{};
    // The bytes in fastbins are not known before, as they are of an allocator that is asked: all may be.
    if (!heaps.walk(bytes, std::min(bytes, places.resident), ending, found)) return std::nullopt;
    ProcessHeaps out;
    out.main = found.main;
    out.system_bytes = found.main.bytes;
    if (uint64_t mapped = 0; heaps.mapped_bytes(mapped)) {
        out.mapped_bytes = mapped;
        for (const auto &[from, to] : places.mappings) {
            glibc::find_mapped_blocks(from, to, mapped, ending, found.around);
        }
    }
    if (memory.exhausted()) return std::nullopt;
    out.main.stamp = read_clock(CLOCK_MONOTONIC);
    out.main.duration = read_clock(CLOCK_THREAD_CPUTIME_ID) - begin;
    if (found.around.known != 0) {
        found.others.stamp = out.main.stamp;
        out.others = found.others;
        out.around = found.around;
        out.system_bytes = bytes;
    }
    return out;
}

} // namespace reap::native
