// SPDX-License-Identifier: MIT
#include "perf/rings.h"

#include <cerrno>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::spawn {
namespace {

constexpr std::size_t max_record_bytes = 8192;
constexpr std::uint32_t any_type = UINT32_MAX;
/// Descriptors that are left free for reading /proc.
constexpr long reserved_descriptors = 16;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

} // namespace

void PerfRings::stop() {
    for (int i = 0; i < count_; ++i) ioctl(rings_[i].fd, PERF_EVENT_IOC_DISABLE, 0);
}

void PerfRings::close() {
    for (int i = 0; i < count_; ++i) {
        munmap(rings_[i].memory, (pages_ + 1) * page_size());
        ::close(rings_[i].fd);
    }
    count_ = 0;
}

int PerfRings::open(pid_t thread, perf_event_attr &attributes, std::size_t pages, const char *filter) {
    const long cpus = sysconf(_SC_NPROCESSORS_CONF);
    int error = ENODEV;
    bool any = false;
    for (int cpu = 0; cpu < cpus && cpu < max_cpus; ++cpu) {
        const int failed = open_on(thread, cpu, attributes, pages, filter);
        any = any || failed == 0;
        if (failed != 0 && failed != ENODEV) error = failed; // ENODEV: the CPU is offline
    }
    return any ? 0 : error;
}

int PerfRings::open_on(pid_t thread, int cpu, perf_event_attr &attributes, std::size_t pages,
                       const char *filter) {
    const int fd =
        static_cast<int>(syscall(SYS_perf_event_open, &attributes, thread, cpu, -1, PERF_FLAG_FD_CLOEXEC));
    if (fd < 0) return errno;
    if (fd >= sysconf(_SC_OPEN_MAX) - reserved_descriptors) {
        ::close(fd);
        return EMFILE;
    }
    Ring *ring = ring_of(cpu);
    bool good = filter == nullptr || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, filter) == 0;
    if (good && ring != nullptr) {
        good = ioctl(fd, PERF_EVENT_IOC_SET_OUTPUT, ring->fd) == 0;
    } else if (good) {
        pages_ = pages;
        void *memory = mmap(nullptr, (pages_ + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        good = memory != MAP_FAILED;
        if (good) rings_[count_++] = {fd, cpu, memory};
    }
    if (good) return 0; // a further thread's event lives as long as this process
    const int error = errno;
    ::close(fd);
    return error;
}

PerfRings::Ring *PerfRings::ring_of(int cpu) {
    for (int i = 0; i < count_; ++i) {
        if (rings_[i].cpu == cpu) return &rings_[i];
    }
    return nullptr;
}

void PerfRings::drain(RecordHandler &handler) {
    for (int i = 0; i < count_; ++i) {
        const std::uint64_t head = visit(rings_[i], any_type, handler);
        auto *control = static_cast<perf_event_mmap_page *>(rings_[i].memory);
        __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
    }
}

void PerfRings::look(std::uint32_t type, RecordHandler &handler) {
    for (int i = 0; i < count_; ++i) visit(rings_[i], type, handler);
}

/// Returns where they end.
std::uint64_t PerfRings::visit(Ring &ring, std::uint32_t type, RecordHandler &handler) {
    auto *control = static_cast<perf_event_mmap_page *>(ring.memory);
    const auto *data = static_cast<const unsigned char *>(ring.memory) + page_size();
    const std::uint64_t size = pages_ * page_size();
    const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = control->data_tail;
    while (tail < head) {
        perf_event_header header;
        alignas(8) unsigned char record[max_record_bytes];
        const auto copy = [&](void *out, std::size_t length) {
            for (std::size_t i = 0; i < length; ++i)
                static_cast<unsigned char *>(out)[i] = data[(tail + i) % size];
        };
        copy(&header, sizeof header);
        if (header.size < sizeof header || header.size > head - tail) break;
        if (header.size <= sizeof record && (type == any_type || type == header.type)) {
            copy(record, header.size);
            Fields fields(record + sizeof header, record + header.size);
            if (header.type == PERF_RECORD_LOST) {
                fields.next<std::uint64_t>(); // id of the event
                lost_ += fields.next<std::uint64_t>();
            } else {
                handler.handle(header, fields);
            }
        }
        tail += header.size;
    }
    return head;
}

} // namespace reap::spawn
