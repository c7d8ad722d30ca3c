// SPDX-License-Identifier: MIT
#include "perf/sampler.h"

#include <cerrno>
#include <cstring>

#include "clock.h"
#include "perf/sample.h"

namespace reap::spawn {
namespace {

constexpr std::size_t ring_pages = 64;
constexpr std::uint64_t max_callers = 48;

/// Writes samples and mappings into the trace.
class Writer final : public RecordHandler {
  public:
    Writer(TraceBlocks &trace, bool callers) : trace_(trace), callers_(callers) {}

    void handle(const perf_event_header &header, Fields fields) override {
        if (header.type == PERF_RECORD_SAMPLE) sample(header, fields);
        if (header.type == PERF_RECORD_MMAP2) mapping(fields);
        if (header.type == PERF_RECORD_FORK) fork(fields);
    }

  private:
    void sample(const perf_event_header &header, Fields fields) {
        const auto pointer = fields.next<std::uint64_t>();
        const auto pid = fields.next<std::uint32_t>();
        const auto tid = fields.next<std::uint32_t>();
        const auto time = fields.next<std::uint64_t>();
        std::uint64_t callers[max_callers];
        const std::uint64_t depth = callers_ ? read_callers(fields, callers) : 0;
        UserSide user = read_user_side(fields);
        const bool kernel = (header.misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
        if (!kernel) {
            if (user.pointer == 0) user.pointer = pointer;
            if (user.count > 1) user.count = 1; // the return address of a leaf function
        }
        if (!fields.good()) return;
        TraceBlocks::Record record(trace_, REAP_TAG_IP, static_cast<std::int64_t>(time));
        record.number(pid).number(tid).number(kernel ? 1 : 0).number(user.pointer);
        user.put_words(record);
        if (callers_) {
            record.number(kernel ? pointer : 0).number(depth);
            for (std::uint64_t i = 0; i < depth; ++i) record.number(callers[i]);
        }
        record.commit();
    }

    /// The user-mode part of a call chain, without the sampled instruction itself.
    static std::uint64_t read_callers(Fields &fields, std::uint64_t *callers) {
        const auto length = fields.next<std::uint64_t>();
        std::uint64_t depth = 0;
        bool itself = true;
        for (std::uint64_t i = 0; i < length && fields.good(); ++i) {
            const auto address = fields.next<std::uint64_t>();
            if (address >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX))
                continue; // a marker: kernel or user part
            if (itself) {
                itself = false;
            } else if (depth < max_callers) {
                callers[depth++] = address;
            }
        }
        return depth;
    }

    void fork(Fields fields) {
        const auto pid = fields.next<std::uint32_t>();
        const auto parent = fields.next<std::uint32_t>();
        if (!fields.good() || pid == parent) return; // a thread
        TraceBlocks::Record record(trace_, REAP_TAG_SEEN, now_ns());
        record.number(pid).number(REAP_SEEN_FORK).number(parent);
        record.commit();
    }

    void mapping(Fields fields) {
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
        TraceBlocks::Record record(trace_, REAP_TAG_MAPPING, now_ns());
        record.number(pid).number(start).number(length).number(offset).text(path);
        record.commit();
    }

    TraceBlocks &trace_;
    bool callers_;
};

} // namespace

int PerfSampler::open(pid_t thread, How how) {
    perf_event_attr attributes = begin_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
                                                  std::uint64_t{how.period_us} * 1000, how.running);
    if (how.callers) {
        attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
        attributes.exclude_callchain_kernel = 1;
        attributes.sample_max_stack = max_callers + 1;
        attributes.task = 1;
    }
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.exclude_kernel = sees_kernel_ ? 0 : 1;
    return rings_.open(thread, attributes, ring_pages);
}

bool PerfSampler::attach(pid_t thread, How how) {
    how_ = how;
    int error = open(thread, how);
    if ((error == EACCES || error == EPERM) && sees_kernel_ && !rings_.opened()) {
        sees_kernel_ = false;
        error = open(thread, how);
    }
    errno = error;
    return error == 0;
}

void PerfSampler::drain(TraceBlocks &trace) {
    Writer writer(trace, how_.callers);
    rings_.drain(writer);
}

} // namespace reap::spawn
