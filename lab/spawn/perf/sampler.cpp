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
/// Threads and processes that begin, above which they are many: they cost more than 1 % of a core then.
constexpr double begun_per_second = 500;
constexpr int fewest_begun = 4;
/// Drains in a row with many. A pool of threads begins in one, and so may the processes of a pipeline: more
/// than these are many at once.
constexpr int drains_with_many = 2;
constexpr int largest_pool = 64;
constexpr int longest_pipeline = 8;

/// Follows the forks of a tree.
class Follower final : public RecordHandler {
  public:
    explicit Follower(KnownProcesses &tree) : tree_(tree) {}

    void handle(const perf_event_header &, Fields fields) override {
        const auto pid = fields.next<std::uint32_t>();
        const auto parent = fields.next<std::uint32_t>();
        if (fields.good() && pid != parent) tree_.add_fork(pid, parent);
    }

  private:
    KnownProcesses &tree_;
};

/// Writes samples and mappings into the trace.
class Writer final : public RecordHandler {
  public:
    Writer(TraceBlocks &trace, bool callers, KnownProcesses &tree)
        : trace_(trace), tree_(tree), callers_(callers) {}

    /// Passes over what is of other processes, and samples from before.
    void take_only_tree(std::int64_t since) {
        only_tree_ = true;
        since_ = since;
    }

    void handle(const perf_event_header &header, Fields fields) override {
        if (header.type == PERF_RECORD_SAMPLE) sample(header, fields);
        if (header.type == PERF_RECORD_MMAP2) mapping(fields);
        if (header.type == PERF_RECORD_FORK) fork(header, fields);
    }

    /// How many threads and processes have begun, and how many of these are processes.
    int begun() const { return begun_; }
    int processes() const { return processes_; }

  private:
    bool wanted(std::uint32_t pid) const { return !only_tree_ || tree_.has(pid); }

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
        if (!fields.good() || !wanted(pid) || static_cast<std::int64_t>(time) < since_) return;
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

    void fork(const perf_event_header &header, Fields fields) {
        ++begun_;
        Follower(tree_).handle(header, fields);
        const auto pid = fields.next<std::uint32_t>();
        const auto parent = fields.next<std::uint32_t>();
        if (!fields.good() || pid == parent) return; // a thread
        ++processes_;
        if (!callers_ || !wanted(pid)) return;
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
        if (!fields.good() || !wanted(pid)) return;
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
    KnownProcesses &tree_;
    bool callers_;
    bool only_tree_ = false;
    std::int64_t since_ = 0;
    int begun_ = 0;
    int processes_ = 0;
};

} // namespace

perf_event_attr PerfSampler::attributes_for(How how) const {
    perf_event_attr attributes = begin_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK,
                                                  std::uint64_t{how.period_us} * 1000, how.running);
    if (how.callers) {
        attributes.sample_type |= PERF_SAMPLE_CALLCHAIN;
        attributes.exclude_callchain_kernel = 1;
        attributes.sample_max_stack = max_callers + 1;
    }
    attributes.task = 1;
    attributes.mmap = 1;
    attributes.mmap2 = 1;
    attributes.exclude_kernel = sees_kernel_ ? 0 : 1;
    return attributes;
}

bool PerfSampler::attach(pid_t thread, How how) {
    how_ = how;
    how_.tree = how.tree && tree_.begin(thread);
    drained_ = now_ns();
    perf_event_attr wanted = attributes_for(how);
    int error = rings_.open(thread, wanted, ring_pages);
    if ((error == EACCES || error == EPERM) && sees_kernel_ && !rings_.opened()) {
        sees_kernel_ = false;
        wanted = attributes_for(how);
        error = rings_.open(thread, wanted, ring_pages);
    }
    errno = error;
    return error == 0;
}

void PerfSampler::drain(TraceBlocks &trace) {
    Writer writer(trace, how_.callers, tree_);
    if (cpus_.opened()) {
        // All forks first: a child may have been sampled on another CPU than that of its parent.
        Follower follower(tree_);
        cpus_.look(PERF_RECORD_FORK, follower);
        writer.take_only_tree(turned_);
        cpus_.drain(writer);
        return;
    }
    rings_.drain(writer);
    if (how_.tree && many_begin(writer.begun(), writer.processes())) turn_to_cpus(trace);
}

bool PerfSampler::many_begin(int begun, int processes) {
    const std::int64_t before = drained_;
    drained_ = now_ns();
    const double most = begun_per_second * 1e-9 * static_cast<double>(drained_ - before);
    const bool many = begun >= fewest_begun && begun > most;
    with_many_ = many ? with_many_ + 1 : 0;
    return with_many_ == drains_with_many ||
           (many && (processes > longest_pipeline || begun - processes > largest_pool));
}

void PerfSampler::turn_to_cpus(TraceBlocks &trace) {
    how_.tree = false; // once
    How how = how_;
    how.running = true;
    perf_event_attr wanted = attributes_for(how);
    // So that it keeps no step with timers of the program. Those of threads stand still while it waits.
    wanted.sample_period = std::uint64_t{how_.period_us} * 997;
    wanted.inherit = 0;
    wanted.exclude_idle = 1;
    if (cpus_.open(-1, wanted, ring_pages) != 0 || cpus_.count() < rings_.count()) return cpus_.close();
    rings_.stop();
    turned_ = now_ns();
    Writer writer(trace, how_.callers, tree_);
    rings_.drain(writer);
    rings_.close();
}

} // namespace reap::spawn
