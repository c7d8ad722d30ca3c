// SPDX-License-Identifier: MIT
#include "proc/poller.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "proc/descriptors.h"
#include "proc/resident.h"
#include "proc/tasks.h"
#include "proc/text_file.h"

namespace reap::spawn {
namespace {

constexpr int max_depth = 16;
constexpr std::uint64_t max_processes = 64;
constexpr std::uint64_t max_threads = 256;
constexpr std::int64_t min_gap_ns = 8'000'000;
constexpr std::uint32_t gap_spread_ns = 4'000'000;
/// The kernel walks all pages to report mappings and memory, so these are polled at growing intervals: the
/// elapsed time over this, between the two bounds.
constexpr std::int64_t memory_gap_divisor = 8;
constexpr std::int64_t min_memory_gap_ns = 20'000'000;
constexpr std::int64_t max_memory_gap_ns = 2'000'000'000;
constexpr std::int64_t memory_cost_divisor = 100; ///< at most this fraction of one CPU's time is spent on it
constexpr int max_mappings = 20000; ///< the memory of a process with more is reported as unknown
constexpr std::size_t stack_words = 16;

std::int64_t thread_cpu_ns() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<std::int64_t>(time.tv_sec) * 1'000'000'000 + time.tv_nsec;
}

/// The value in bytes of a line `NAME:  123 kB`, plus one; 0 if there is no such line.
std::uint64_t kilobytes(const char *text, const char *name) {
    const char *line = std::strstr(text, name);
    return line == nullptr ? 0 : std::strtoull(line + std::strlen(name), nullptr, 10) * 1024 + 1;
}

/// Locks use these operations; condition variables, semaphores and joins use FUTEX_WAIT_BITSET.
bool waits_for_lock(std::uint64_t operation) {
    const auto command = static_cast<int>(operation) & FUTEX_CMD_MASK;
    return command == FUTEX_WAIT || command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2;
}

bool waits_for_any(long number) {
#if defined(__x86_64__) // newer processors' calls are those that take a signal mask
    if (number == SYS_epoll_wait || number == SYS_poll || number == SYS_select) return true;
#endif
    return number == SYS_epoll_pwait || number == SYS_ppoll || number == SYS_pselect6;
}

/// Whether one of a process's first descriptors is a socket.
bool has_socket(pid_t process) {
    constexpr int max_descriptors = 64;
    char path[64];
    std::snprintf(path, sizeof path, "/proc/%d/fd", static_cast<int>(process));
    DIR *descriptors = opendir(path);
    if (descriptors == nullptr) return true; // unknown: assume that it has one
    bool found = false;
    int checked = 0;
    while (const dirent *entry = readdir(descriptors)) {
        if (entry->d_name[0] == '.') continue;
        const int descriptor = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
        found = waited_for(process, descriptor) == REAP_WAITED_SOCKET;
        if (found || ++checked >= max_descriptors) break;
    }
    closedir(descriptors);
    return found;
}

/// What a system call with these arguments waits for.
reap_waited_for classify_wait(pid_t process, long number, std::uint64_t argument, std::uint64_t second) {
    switch (number) {
    case SYS_futex:
        return waits_for_lock(second) ? REAP_WAITED_LOCK : REAP_WAITED_OTHER;
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_readv:
    case SYS_writev:
    case SYS_preadv:
    case SYS_pwritev:
    case SYS_sendfile:
    case SYS_splice:
        return waited_for(process, static_cast<int>(argument));
    default:
        return REAP_WAITED_UNKNOWN;
    }
}

} // namespace

void TreePoller::poll(pid_t process, std::int64_t now, TraceBlocks &trace) {
    trace_ = &trace;
    now_ = now;
    processes_ = 0;
    threads_ = 0;
    sockets_of_ = 0;
    with_memory_ = now >= next_memory_;
    const std::int64_t began = thread_cpu_ns();
    poll_process(process, 0);
    TraceBlocks::Record(trace, REAP_TAG_SEEN, now)
        .number(static_cast<std::uint64_t>(process))
        .number(REAP_SEEN_LOOK)
        .number(processes_)
        .number(threads_)
        .commit();
    if (with_memory_) {
        if (first_memory_poll_ == 0) first_memory_poll_ = now;
        const std::int64_t took = thread_cpu_ns() - began;
        const std::int64_t gap =
            std::clamp((now - first_memory_poll_) / memory_gap_divisor, min_memory_gap_ns, max_memory_gap_ns);
        next_memory_ = now + std::max(gap, memory_cost_divisor * took);
    }
    random_ = random_ * 1664525u + 1013904223u;
    next_ = now_ns() + min_gap_ns + (random_ >> 8) % gap_spread_ns;
}

void TreePoller::poll_process(pid_t process, int depth) {
    if (depth > max_depth || processes_ >= max_processes) return;
    const bool ours = process == getpid();
    if (!ours) {
        ++processes_;
        if (with_memory_) poll_memory(process);
    }
    for_each_thread(process, [&](pid_t thread) {
        if (!ours) poll_thread(process, thread);
        for_each_child(process, thread, [&](pid_t child) {
            poll_process(child, depth + 1);
            return true;
        });
    });
}

void TreePoller::poll_thread(pid_t process, pid_t thread) {
    ++threads_;
    if (threads_ > max_threads) return;
    char path[96];
    char text[512];
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/stat", static_cast<int>(process),
                  static_cast<int>(thread));
    read_text(path, text, sizeof text);
    const char *field = find_state(text);
    if (field == nullptr) return;
    const char state = *field;
    if (state == 'R') { // running, or ready to run: not waiting
        TraceBlocks::Record(*trace_, REAP_TAG_SEEN, now_)
            .number(static_cast<std::uint64_t>(process))
            .number(REAP_SEEN_WAIT)
            .number(static_cast<std::uint64_t>(thread))
            .number(static_cast<std::uint64_t>(state))
            .number(0)
            .number(REAP_WAITED_OTHER)
            .number(0)
            .number(0)
            .commit();
        return;
    }
    if (state != 'S' && state != 'D') return; // stopped, or ended
    std::snprintf(path, sizeof path, "/proc/%d/task/%d/syscall", static_cast<int>(process),
                  static_cast<int>(thread));
    read_text(path, text, sizeof text);
    // NUMBER ARGUMENT... SP PC; -1 SP PC for a wait outside of a call, as for a page; or the word "running".
    char *at = text;
    const long number = std::strtol(text, &at, 10);
    std::uint64_t values[8] = {};
    std::size_t count = 0;
    if (at != text) {
        for (char *end = at; count < 8; at = end) {
            const std::uint64_t value = std::strtoull(at, &end, 16);
            if (end == at) break;
            values[count++] = value;
        }
    }
    const bool known = at != text && count >= 2;
    const std::uint64_t pointer = known ? values[count - 1] : 0;
    std::uint64_t words[stack_words] = {};
    std::size_t words_count = 0;
    if (known && number == SYS_futex) { // the caller, on the stack, tells whose lock it is
        const iovec here{words, sizeof words};
        const iovec there{reinterpret_cast<void *>(values[count - 2]), sizeof words};
        const ssize_t got = process_vm_readv(process, &here, 1, &there, 1, 0);
        if (got > 0) words_count = static_cast<std::size_t>(got) / sizeof *words;
    }
    reap_waited_for what =
        known && number >= 0 ? classify_wait(process, number, values[0], values[1]) : REAP_WAITED_UNKNOWN;
    if (known && waits_for_any(number)) {
        // In a program without connections, this is how a runtime's idle thread waits for its timers.
        if (sockets_of_ != process) {
            sockets_of_ = process;
            sockets_ = has_socket(process);
        }
        what = sockets_ ? REAP_WAITED_SOCKET : REAP_WAITED_OTHER;
    }
    TraceBlocks::Record record(*trace_, REAP_TAG_SEEN, now_);
    record.number(static_cast<std::uint64_t>(process)).number(REAP_SEEN_WAIT);
    record.number(static_cast<std::uint64_t>(thread)).number(static_cast<std::uint64_t>(state));
    record.number(known && number >= 0 ? static_cast<std::uint64_t>(number) + 1 : 0);
    record.number(what).number(pointer).number(words_count);
    for (std::size_t i = 0; i < words_count; ++i) record.number(words[i]);
    record.commit();
}

void TreePoller::poll_memory(pid_t process) {
    char path[64];
    char text[4352];
    std::snprintf(path, sizeof path, "/proc/%d/status", static_cast<int>(process));
    read_text(path, text, sizeof text);
    const std::uint64_t peak = kilobytes(text, "VmHWM:");
    std::snprintf(path, sizeof path, "/proc/%d/smaps", static_cast<int>(process));
    std::FILE *maps = std::fopen(path, "re");
    if (maps == nullptr) return;
    std::uint64_t heap = 0;
    std::uint64_t lazy = 0;
    // The kernel writes the file a page at a time, and repeats a mapping that has grown meanwhile, as the
    // heap does: of two entries with the same start address, the second counts.
    std::uint64_t begin = 0;
    std::uint64_t heap_before = 0;
    std::uint64_t lazy_before = 0;
    bool in_heap = false;
    int mappings = 0;
    while (mappings < max_mappings && std::fgets(text, sizeof text, maps) != nullptr) {
        if (std::strchr("0123456789abcdef", text[0]) != nullptr) {
            ++mappings;
            if (const std::uint64_t next = std::strtoull(text, nullptr, 16); next == begin) {
                heap = heap_before;
                lazy = lazy_before;
            } else {
                begin = next;
                heap_before = heap;
                lazy_before = lazy;
            }
            in_heap = std::strstr(text, "[heap]") != nullptr;
            record_mapping(process, text);
        } else if (in_heap && std::strncmp(text, "Rss:", 4) == 0) {
            heap += kilobytes(text, "Rss:") - 1;
        } else if (std::strncmp(text, "LazyFree:", 9) == 0) {
            lazy += kilobytes(text, "LazyFree:") - 1;
        }
    }
    std::fclose(maps);
    // A process that ends meanwhile, and so has no memory any more, cuts the file short.
    const bool whole = mappings > 0 && mappings < max_mappings && own_resident_memory(process).bytes > 0;
    TraceBlocks::Record(*trace_, REAP_TAG_SEEN, now_)
        .number(static_cast<std::uint64_t>(process))
        .number(REAP_SEEN_MEMORY)
        .number(peak)
        .number(whole ? heap + 1 : 0)
        .number(whole ? lazy + 1 : 0)
        .commit();
}

void TreePoller::record_mapping(pid_t process, char *line) {
    // START-END FLAGS OFFSET DEVICE INODE PATH
    char *at = line;
    const std::uint64_t start = std::strtoull(at, &at, 16);
    if (*at != '-') return;
    const std::uint64_t end = std::strtoull(at + 1, &at, 16);
    if (std::strlen(at) < 6) return;
    const bool executable = at[3] == 'x';
    const std::uint64_t offset = std::strtoull(at + 5, &at, 16);
    char *path = std::strchr(at, '/');
    if (path == nullptr) return;
    TraceBlocks::Record(*trace_, REAP_TAG_SEEN, now_)
        .number(static_cast<std::uint64_t>(process))
        .number(REAP_SEEN_FILE)
        .number(start)
        .number(end - start)
        .commit();
    // Mappings that are older than the first poll of their process have no perf event.
    if (!executable) return;
    if (char *newline = std::strchr(path, '\n')) *newline = '\0';
    TraceBlocks::Record(*trace_, REAP_TAG_MAPPING, now_)
        .number(static_cast<std::uint64_t>(process))
        .number(start)
        .number(end - start)
        .number(offset)
        .text(path)
        .commit();
}

} // namespace reap::spawn
