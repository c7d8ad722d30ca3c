// SPDX-License-Identifier: MIT
#include "perf_sampler.h"

#include <asm/perf_regs.h>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace reap::spawn {
namespace {

constexpr std::uint32_t stack_bytes = 128;
constexpr std::size_t largest_record = 8192;

std::size_t page_size() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

/// Reads numbers of a record one after another.
class Fields {
  public:
    Fields(const unsigned char *at, const unsigned char *end) : at_(at), end_(end) {}

    template <class Number>
    Number next() {
        Number value{};
        if (static_cast<std::size_t>(end_ - at_) < sizeof value) {
            at_ = end_;
            good_ = false;
            return value;
        }
        std::memcpy(&value, at_, sizeof value);
        at_ += sizeof value;
        return value;
    }

    bool good() const { return good_; }
    const unsigned char *at() const { return at_; }
    const unsigned char *end() const { return end_; }

  private:
    const unsigned char *at_;
    const unsigned char *end_;
    bool good_ = true;
};

void handle_sample(const perf_event_header &header, Fields fields, TraceBlocks &trace) {
    const auto pointer = fields.next<std::uint64_t>();
    const auto pid = fields.next<std::uint32_t>();
    const auto tid = fields.next<std::uint32_t>();
    const auto time = fields.next<std::uint64_t>();
    const auto abi = fields.next<std::uint64_t>();
    std::uint64_t user = 0;
    if (abi != PERF_SAMPLE_REGS_ABI_NONE) {
        fields.next<std::uint64_t>(); // the stack pointer
        user = fields.next<std::uint64_t>();
    }
    const bool kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
    if (!kernel && user == 0) user = pointer;
    std::uint64_t words[stack_bytes / sizeof(std::uint64_t)];
    std::uint64_t count = 0;
    const auto dumped = fields.next<std::uint64_t>();
    if (kernel && dumped <= stack_bytes) {
        const unsigned char *stack = fields.at();
        const unsigned char *length = stack + dumped; // how much of it was really there comes behind it
        std::uint64_t real = 0;
        if (dumped > 0 && static_cast<std::size_t>(fields.end() - length) >= sizeof real) {
            std::memcpy(&real, length, sizeof real);
            for (; (count + 1) * sizeof(std::uint64_t) <= real && count < sizeof words / sizeof *words;
                 ++count) {
                std::memcpy(&words[count], stack + count * sizeof(std::uint64_t), sizeof(std::uint64_t));
            }
        }
    }
    if (!fields.good()) return;
    TraceBlocks::Record record(trace, REAP_TAG_IP, static_cast<std::int64_t>(time));
    record.number(pid).number(tid).number(kernel ? 1 : 0).number(user).number(count);
    for (std::uint64_t i = 0; i < count; ++i) record.number(words[i]);
    record.commit();
}

void handle_mapping(Fields fields, TraceBlocks &trace) {
    const auto pid = fields.next<std::uint32_t>();
    fields.next<std::uint32_t>(); // thread
    const auto start = fields.next<std::uint64_t>();
    const auto length = fields.next<std::uint64_t>();
    const auto offset = fields.next<std::uint64_t>();
    fields.next<std::uint64_t>(); // device
    fields.next<std::uint64_t>(); // inode
    fields.next<std::uint64_t>(); // its generation
    fields.next<std::uint64_t>(); // protection and flags
    if (!fields.good()) return;
    char path[4096];
    const std::size_t room = static_cast<std::size_t>(fields.end() - fields.at());
    const std::size_t taken = room < sizeof path - 1 ? room : sizeof path - 1;
    std::memcpy(path, fields.at(), taken);
    path[taken] = '\0';
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    TraceBlocks::Record record(trace, REAP_TAG_MAPPING,
                               static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec);
    record.number(pid).number(start).number(length).number(offset).text(path);
    record.commit();
}

} // namespace

PerfSampler::~PerfSampler() {
    for (int i = 0; i < count_; ++i) {
        munmap(rings_[i].memory, (ring_pages + 1) * page_size());
        close(rings_[i].fd);
    }
}

int PerfSampler::open(pid_t child, int processor, std::uint32_t period_us, bool kernel, Ring &ring) const {
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = std::uint64_t{period_us} * 1000;
    attributes.sample_type =
        PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    attributes.sample_regs_user = UINT64_C(1) << PERF_REG_X86_SP | UINT64_C(1) << PERF_REG_X86_IP;
    attributes.sample_stack_user = stack_bytes;
    attributes.use_clockid = 1;
    attributes.clockid = CLOCK_MONOTONIC;
    attributes.disabled = 1;
    attributes.enable_on_exec = 1;
    attributes.inherit = 1;
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.exclude_kernel = kernel ? 0 : 1;
    attributes.exclude_hv = 1;
    ring.fd = static_cast<int>(
        syscall(SYS_perf_event_open, &attributes, child, processor, -1, PERF_FLAG_FD_CLOEXEC));
    if (ring.fd < 0) return errno;
    ring.memory =
        mmap(nullptr, (ring_pages + 1) * page_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ring.fd, 0);
    if (ring.memory != MAP_FAILED) return 0;
    const int error = errno;
    close(ring.fd);
    return error;
}

bool PerfSampler::attach(pid_t child, std::uint32_t period_us) {
    const long processors = sysconf(_SC_NPROCESSORS_CONF);
    sees_kernel_ = true;
    int error = ENODEV;
    for (int processor = 0; processor < processors && count_ < most_processors; ++processor) {
        Ring ring;
        int failed = open(child, processor, period_us, sees_kernel_, ring);
        if (count_ == 0 && (failed == EACCES || failed == EPERM)) {
            sees_kernel_ = false;
            failed = open(child, processor, period_us, sees_kernel_, ring);
        }
        if (failed == 0) {
            rings_[count_++] = ring;
        } else if (failed != ENODEV) { // a processor that is switched off is none
            error = failed;
        }
    }
    errno = error;
    return count_ > 0;
}

void PerfSampler::drain(TraceBlocks &trace) {
    for (int i = 0; i < count_; ++i) drain(rings_[i], trace);
}

void PerfSampler::drain(Ring &ring, TraceBlocks &trace) {
    auto *control = static_cast<perf_event_mmap_page *>(ring.memory);
    const auto *data = static_cast<const unsigned char *>(ring.memory) + page_size();
    const std::uint64_t size = ring_pages * page_size();
    const std::uint64_t head = __atomic_load_n(&control->data_head, __ATOMIC_ACQUIRE);
    std::uint64_t tail = control->data_tail;
    while (tail < head) {
        perf_event_header header;
        unsigned char record[largest_record];
        const auto copy = [&](void *out, std::size_t length) {
            for (std::size_t i = 0; i < length; ++i)
                static_cast<unsigned char *>(out)[i] = data[(tail + i) % size];
        };
        copy(&header, sizeof header);
        if (header.size < sizeof header || header.size > head - tail) break;
        if (header.size <= sizeof record) {
            copy(record, header.size);
            handle(record, header.size, trace);
        }
        tail += header.size;
    }
    __atomic_store_n(&control->data_tail, head, __ATOMIC_RELEASE);
}

void PerfSampler::handle(const unsigned char *record, std::size_t size, TraceBlocks &trace) {
    perf_event_header header;
    std::memcpy(&header, record, sizeof header);
    const Fields fields(record + sizeof header, record + size);
    if (header.type == PERF_RECORD_SAMPLE) handle_sample(header, fields, trace);
    if (header.type == PERF_RECORD_MMAP2) handle_mapping(fields, trace);
}

} // namespace reap::spawn
