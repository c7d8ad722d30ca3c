#include "trace/writer.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <ctime>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <stdexcept>
#include <sys/resource.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include "reap_ticks.h"
#include "trace/block_file.h"
#include "trace/checksum.h"
#include "trace/process.h"

namespace reap::native {
namespace {

uint64_t clock_ns(clockid_t clock) {
    timespec now{};
    clock_gettime(clock, &now);
    return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<uint64_t>(now.tv_nsec);
}

uint64_t ticks_per_second(uint32_t clock) {
    if (clock != REAP_CLOCK_TSC) return 1'000'000'000u;
    const uint64_t ns = clock_ns(CLOCK_MONOTONIC);
    const uint64_t ticks = reap_ticks();
    const timespec pause{0, 20'000'000};
    nanosleep(&pause, nullptr);
    const uint64_t more_ns = clock_ns(CLOCK_MONOTONIC) - ns;
    const uint64_t more_ticks = reap_ticks() - ticks;
    return static_cast<uint64_t>(static_cast<double>(more_ticks) * 1e9 / static_cast<double>(more_ns));
}

[[noreturn]] void fail(const std::string &path) {
    throw std::system_error(errno, std::generic_category(), path);
}

// Gives the disk back what a block did not use: a process that lived for a moment used a page of each of its
// blocks. Holes read as zeros; a file system without them keeps what it has.
void punch_zeros(int file, const BlockInfo &info, const std::vector<unsigned char> &payload) {
    constexpr uint64_t kStep = 4096;
    constexpr uint64_t kSteps = REAP_BLOCK_BYTES / kStep;
    const auto used = [&](uint64_t page) {
        const uint64_t begin = page * kStep - REAP_BLOCK_HEADER_BYTES;
        const uint64_t end = std::min<uint64_t>(begin + kStep, payload.size());
        for (uint64_t at = begin; at < end; ++at) {
            if (payload[at] != 0) return true;
        }
        return false;
    };
    uint64_t hole = 1; // the first page holds the head
    for (uint64_t page = 1; page <= kSteps; ++page) {
        if (page < kSteps && !used(page)) continue;
        if (page > hole) {
            (void)::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                              static_cast<off_t>(info.index * REAP_BLOCK_BYTES + hole * kStep),
                              static_cast<off_t>((page - hole) * kStep));
        }
        hole = page + 1;
    }
}

// Makes the file long, without taking any of the disk: what processes of any user and root write to they map
// then, and do not have to make. 1 GB, or as much as the file system and limits let it; the launcher goes on.
uint32_t lengthen(int file) {
    constexpr uint64_t kLongest = UINT64_C(1) << 30;
    constexpr uint64_t kShortest = UINT64_C(1) << 24;
    rlimit limit{};
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0) return 0;
    for (uint64_t length = kLongest; length >= kShortest; length /= 2) {
        if (limit.rlim_cur != RLIM_INFINITY && length > limit.rlim_cur) continue; // a signal would say so
        if (::ftruncate(file, static_cast<off_t>(length)) == 0) {
            return static_cast<uint32_t>(length / REAP_BLOCK_BYTES);
        }
    }
    return 0;
}

// Returns the space of the blocks [first, end) to the file system. False where it takes none back.
bool punch(int file, uint64_t first, uint64_t end) {
    return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                       static_cast<off_t>(first * REAP_BLOCK_BYTES),
                       static_cast<off_t>((end - first) * REAP_BLOCK_BYTES)) == 0;
}

// Returns to the file system what was reserved for blocks that nobody began.
void punch_unused(int file, const BlockFile &blocks) {
    uint64_t next = 1;
    const auto punch_until = [&](uint64_t end) {
        if (end > next) (void)punch(file, next, end);
    };
    for (const BlockInfo &info : blocks.blocks()) {
        punch_until(info.index);
        next = info.index + 1;
    }
    punch_until(blocks.header().next_block);
}

} // namespace

uint32_t choose_clock() {
    // The time stamp counter itself: the kernel has checked that it never stops and is the same on all
    // processors.
    constexpr std::array kSynchronous = {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page"};
    std::string source;
    std::ifstream("/sys/devices/system/clocksource/clocksource0/current_clocksource") >> source;
    if (std::find(kSynchronous.begin(), kSynchronous.end(), source) == kSynchronous.end())
        return REAP_CLOCK_MONOTONIC_NS;
    std::ifstream processors("/proc/cpuinfo");
    std::string line;
    while (std::getline(processors, line) && !line.starts_with("flags")) {
    }
    line += ' ';
    const bool trusted =
        line.find(" constant_tsc ") != std::string::npos && line.find(" nonstop_tsc ") != std::string::npos;
    return trusted ? REAP_CLOCK_TSC : REAP_CLOCK_MONOTONIC_NS;
}

double clock_cost(uint32_t clock) {
    // As the recorder reads it: waiting for what comes before.
    const auto read = [clock] {
        return clock == REAP_CLOCK_TSC ? reap_ticks_after() : clock_ns(CLOCK_MONOTONIC);
    };
    std::array<uint64_t, 1001> costs{};
    for (uint64_t &cost : costs) {
        const uint64_t before = read();
        cost = read() - before;
    }
    const uint64_t least = *std::min_element(costs.begin(), costs.end());
    return static_cast<double>(least) * 1e9 / static_cast<double>(ticks_per_second(clock));
}

uint64_t ticks_now(uint32_t clock) {
    return clock == REAP_CLOCK_TSC ? reap_ticks() : clock_ns(CLOCK_MONOTONIC);
}

void create_trace(const std::string &path, const TraceOptions &options) {
    reap_file_header header{};
    header.magic = REAP_TRACE_MAGIC;
    header.version = REAP_TRACE_VERSION;
    header.block_bytes = REAP_BLOCK_BYTES;
    header.depth = options.depth;
    header.clock = options.clock;
    header.period_bytes = options.period_bytes;
    header.stamp_all = options.stamp_all ? 1 : 0;
    header.native_only = options.native_only ? 1 : 0;
    header.max_blocks = options.max_blocks;
    header.exact.most_events = options.exact_events;
    header.sampler = options.sampler;
    header.sampler_period_us = options.sampler_period_us;
    header.ticks_per_second = ticks_per_second(options.clock);
    header.next_block = 1;
    header.start_ticks = ticks_now(options.clock);
    header.start_monotonic_ns = clock_ns(CLOCK_MONOTONIC);
    header.start_unix_ns = clock_ns(CLOCK_REALTIME);

    std::string labels;
    for (const auto &[key, value] : options.labels)
        labels.append(key).append(1, 0).append(value).append(1, 0);
    std::vector<unsigned char> block(REAP_BLOCK_BYTES);
    if (labels.size() > block.size() - REAP_LABELS_OFFSET) throw std::length_error("labels");
    header.label_bytes = static_cast<uint32_t>(labels.size());
    std::memcpy(block.data(), &header, sizeof header);
    std::memcpy(block.data() + REAP_LABELS_OFFSET, labels.data(), labels.size());

    const Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.get() < 0) fail(path);
    // The header comes first, so that the file is a trace whenever this process is killed.
    try {
        write_all(file, block.data(), block.size(), 0, path);
        const uint32_t blocks = lengthen(file.get());
        write_all(file, &blocks, sizeof blocks, offsetof(reap_file_header, file_blocks), path);
    } catch (const std::system_error &) {
        ::unlink(path.c_str());
        throw;
    }
}

void set_part(const std::string &path, const PartOptions &options) {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) fail(path);
    const BlockFile trace(path);
    auto part = trace.header().part;
    const bool begins = !options.start_phase.empty() || options.start_signal != 0;
    const bool ends = !options.stop_phase.empty() || options.stop_signal != 0;
    part.gate = begins ? REAP_GATE_SHUT : ends ? REAP_GATE_OPEN : REAP_GATE_NONE;
    part.start_signal = options.start_signal;
    part.stop_signal = options.stop_signal;
    part.ring_blocks = options.ring_blocks;
    part.ring_ticks = static_cast<uint64_t>(options.ring_seconds * trace.ticks_per_second());
    if ((part.ring_blocks != 0 || part.ring_ticks != 0) && !punch(file.get(), 1, 2)) fail(path);
    // The last byte of each stays 0.
    options.start_phase.copy(part.start_phase, sizeof part.start_phase - 1);
    options.stop_phase.copy(part.stop_phase, sizeof part.stop_phase - 1);
    write_all(file, &part, sizeof part, offsetof(reap_file_header, part), path);
}

uint64_t finish_trace(const std::string &path, bool running) {
    const Descriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    if (file.get() < 0) fail(path);
    BlockFile blocks(path, View::All);
    if (blocks.compressed()) return 0; // it was finished before
    std::map<std::pair<uint32_t, uint64_t>, bool> writers;
    uint64_t open = running ? 1 : 0;
    std::vector<unsigned char> block;
    for (const BlockInfo &info : blocks.blocks()) {
        if ((info.head.flags & REAP_BLOCK_SEALED) != 0) continue;
        const auto who = std::pair(info.head.pid, info.head.process_start);
        auto known = writers.find(who);
        if (known == writers.end()) known = writers.emplace(who, is_running(who.first, who.second)).first;
        if (known->second) {
            ++open;
            continue;
        }
        reap_block_header head = info.head;
        head.flags = static_cast<uint16_t>(head.flags | REAP_BLOCK_SEALED);
        head.last_ticks = 0;
        if (!blocks.payload(info, block)) continue;
        head.checksum = checksum(block.data(), block.size(), head.image);
        write_all(file, &head, sizeof head, info.offset, path);
        if (!info.is_within()) punch_zeros(file.get(), info, block);
    }
    // These fields and no others: processes that still run go on taking blocks through the same header.
    const uint64_t end[] = {ticks_now(blocks.header().clock), clock_ns(CLOCK_MONOTONIC)};
    static_assert(offsetof(reap_file_header, end_monotonic_ns) == offsetof(reap_file_header, end_ticks) + 8);
    const bool ended = blocks.header().attached != 0 && blocks.header().end_ticks != 0;
    if (!ended) write_all(file, end, sizeof end, offsetof(reap_file_header, end_ticks), path);
    const uint32_t finished = open == 0 ? 1 : 0;
    const uint32_t used = std::max(blocks.header().next_block, UINT32_C(1));
    if (finished != 0 && blocks.header().file_blocks > used) {
        punch_unused(file.get(), blocks);
        if (::ftruncate(file.get(), static_cast<off_t>(uint64_t{used} * REAP_BLOCK_BYTES)) != 0) fail(path);
        write_all(file, &used, sizeof used, offsetof(reap_file_header, file_blocks), path);
    }
    write_all(file, &finished, sizeof finished, offsetof(reap_file_header, finished), path);
    return open;
}

} // namespace reap::native
