/* The ring buffers of the kernel's perf events, one per CPU.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_PERF_RINGS_H
#define REAP_SPAWN_PERF_RINGS_H

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reap::spawn {

/// Reads the fields of a record one after another.
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

    /// The next `length` bytes, or null if there are fewer.
    const unsigned char *skip(std::uint64_t length) {
        if (static_cast<std::uint64_t>(end_ - at_) < length) {
            good_ = false;
            return nullptr;
        }
        const unsigned char *here = at_;
        at_ += length;
        return here;
    }

    bool good() const { return good_; }
    const unsigned char *at() const { return at_; }
    const unsigned char *end() const { return end_; }

  private:
    const unsigned char *at_;
    const unsigned char *end_;
    bool good_ = true;
};

/// Consumes the records of the ring buffers.
class RecordHandler {
  public:
    virtual void handle(const perf_event_header &header, Fields fields) = 0;

  protected:
    ~RecordHandler() = default;
};

/// One event per CPU: of one thread or several, inherited by the threads and children that these create, or
/// of all that runs there.
class PerfRings {
  public:
    PerfRings() = default;
    ~PerfRings() { close(); }
    PerfRings(const PerfRings &) = delete;
    PerfRings &operator=(const PerfRings &) = delete;

    /// Opens the event on each CPU for `thread`, or for all threads (-1). The records of all threads go to
    /// the same ring buffers of `pages` pages (a power of two). `filter` is a tracepoint filter, or null.
    /// Returns 0, or the errno if it could be opened on no CPU.
    int open(pid_t thread, perf_event_attr &attributes, std::size_t pages, const char *filter = nullptr);

    bool opened() const { return count_ > 0; }

    /// The number of CPUs on which it was opened.
    int count() const { return count_; }

    /// Stops the events, those that were inherited too. What they have written can still be drained.
    void stop();

    /// Removes them.
    void close();

    /// Passes on the records that the kernel has written since the last call.
    void drain(RecordHandler &handler);

    /// Passes on those of one type, which stay.
    void look(std::uint32_t type, RecordHandler &handler);

    /// The number of records that the kernel dropped because a ring buffer was full.
    std::uint64_t lost() const { return lost_; }

  private:
    static constexpr int max_cpus = 512;

    struct Ring {
        int fd = -1;
        int cpu = -1;
        void *memory = nullptr;
    };

    int open_on(pid_t thread, int cpu, perf_event_attr &attributes, std::size_t pages, const char *filter);
    Ring *ring_of(int cpu);
    std::uint64_t visit(Ring &ring, std::uint32_t type, RecordHandler &handler);

    Ring rings_[max_cpus];
    int count_ = 0;
    std::size_t pages_ = 0;
    std::uint64_t lost_ = 0;
};

} // namespace reap::spawn

#endif
