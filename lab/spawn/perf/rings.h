/* What the kernel's perf events write, one ring on each processor.
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

    /// The next `length` bytes, or null where there are fewer.
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

/// Takes the records out of the rings.
class RecordHandler {
  public:
    virtual void handle(const perf_event_header &header, Fields fields) = 0;

  protected:
    ~RecordHandler() = default;
};

/// One event on each processor, of one thread or of several, inherited by all threads and children that these
/// will have.
class PerfRings {
  public:
    PerfRings() = default;
    ~PerfRings();
    PerfRings(const PerfRings &) = delete;
    PerfRings &operator=(const PerfRings &) = delete;

    /// Opens the event on each processor for `thread`; a further thread's records come into the same rings of
    /// `pages` pages (a power of two). `filter` is one of a tracepoint, or null. 0, or the errno for which it
    /// opened nowhere.
    int open(pid_t thread, perf_event_attr &attributes, std::size_t pages, const char *filter = nullptr);

    bool opened() const { return count_ > 0; }

    /// Hands on what the kernel has written since.
    void drain(RecordHandler &handler);

    /// How many records the kernel had no room for.
    std::uint64_t lost() const { return lost_; }

  private:
    static constexpr int most_processors = 512;

    struct Ring {
        int fd = -1;
        int processor = -1;
        void *memory = nullptr;
    };

    int open_on(pid_t thread, int processor, perf_event_attr &attributes, std::size_t pages,
                const char *filter);
    Ring *ring_of(int processor);
    void drain(Ring &ring, RecordHandler &handler);

    Ring rings_[most_processors];
    int count_ = 0;
    std::size_t pages_ = 0;
    std::uint64_t lost_ = 0;
};

} // namespace reap::spawn

#endif
