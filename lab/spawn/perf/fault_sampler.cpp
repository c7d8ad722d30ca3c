// SPDX-License-Identifier: MIT
#include "perf/fault_sampler.h"

#include <cerrno>

#include "perf/sample.h"

namespace reap::spawn {
namespace {

constexpr std::size_t ring_pages = 32;

class Writer final : public RecordHandler {
  public:
    explicit Writer(TraceBlocks &trace) : trace_(trace) {}

    void handle(const perf_event_header &header, Fields fields) override {
        if (header.type != PERF_RECORD_SAMPLE) return;
        const auto pointer = fields.next<std::uint64_t>();
        const auto pid = fields.next<std::uint32_t>();
        const auto tid = fields.next<std::uint32_t>();
        const auto time = fields.next<std::uint64_t>();
        const auto address = fields.next<std::uint64_t>();
        const UserSide user = read_user_side(fields);
        if (!fields.good()) return;
        TraceBlocks::Record record(trace_, REAP_TAG_SEEN, static_cast<std::int64_t>(time));
        record.number(pid).number(REAP_SEEN_FAULT).number(tid);
        record.number(user.pointer != 0 ? user.pointer : pointer);
        record.number(address).number(user.stack_pointer).number(FaultSampler::period);
        user.put_words(record);
        record.commit();
    }

  private:
    TraceBlocks &trace_;
};

} // namespace

bool FaultSampler::attach(pid_t thread, bool running) {
    perf_event_attr attributes =
        begin_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS, period, running);
    attributes.sample_type |= PERF_SAMPLE_ADDR;
    attributes.exclude_kernel = 1; // faults in the kernel's copies are few, and need privileges
    const int error = rings_.open(thread, attributes, ring_pages);
    errno = error;
    return error == 0;
}

void FaultSampler::drain(TraceBlocks &trace) {
    Writer writer(trace);
    rings_.drain(writer);
}

} // namespace reap::spawn
