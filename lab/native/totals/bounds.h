// Bounds of the most that was in use at once, where some events have no stamp.
//
// Such an event happened between the stamps before and behind it in its stream, or behind the last one. At
// any moment in between the stream has made so many of its events in a row, so what it has in use is between
// the least and the most of their sums; what all streams have, between the sums of those. A stamp says
// exactly what its stream has in use.
#pragma once

#include <algorithm>

namespace reap::native {

// A number, at least and at most.
struct Between {
    double low = 0;
    double high = 0;
};

// The most at once; in full depth alone.
struct MostInUse {
    Between objects;
    Between bytes;
};

// Blocks or bytes.
struct Bounded {
    // Of one stream: the sum of its events since its last stamp, and the least and the most of it so far.
    struct Open {
        double now = 0;
        double least = 0;
        double most = 0;

        void add(double change) noexcept {
            now += change;
            least = std::min(least, now);
            most = std::max(most, now);
        }
    };

    double low = 0; // in use, at least
    double high = 0;
    double most_low = 0; // of the most in use
    double most_high = 0;

    void see() noexcept {
        most_low = std::max(most_low, low);
        most_high = std::max(most_high, high);
    }

    // The stream's events since its last stamp have all happened now. `alone`: no other stream's did
    // meanwhile, so that each happened while the others had in use what they have now.
    void settle(const Open &open, bool alone) noexcept {
        end(open, alone);
        low += open.now - open.least;
        high += open.now - open.most;
        see();
    }

    // The stream has no more events.
    void end(const Open &open, bool alone) noexcept {
        if (alone) most_low = std::max(most_low, low - open.least + open.most);
    }

    void remove(const Bounded &other) noexcept {
        low -= other.low;
        high -= other.high;
    }

    // A change at a stamp.
    void add(double change) noexcept {
        low += change;
        high += change;
        see();
    }

    // A change at some moment behind the last stamp; `before` and `after` are the stream's.
    void add(const Open &before, const Open &after) noexcept {
        low += after.least - before.least;
        high += after.most - before.most;
        see();
    }

    [[nodiscard]] Between most() const noexcept { return {most_low, most_high}; }
};

// What a stream has changed since its last stamp.
struct OpenEvents {
    Bounded::Open objects;
    Bounded::Open bytes;

    void add(double more_objects, double more_bytes) noexcept {
        objects.add(more_objects);
        bytes.add(more_bytes);
    }
};

// Of a process, or of the whole tree.
class InUseBounds {
  public:
    // The next event of the stream that has these open ones; `stamped`: they are all before it.
    void visit(const OpenEvents &open, bool stamped) noexcept {
        if (stamped) {
            objects_.settle(open.objects, latest_ == &open);
            bytes_.settle(open.bytes, latest_ == &open);
        }
        latest_ = &open;
    }

    // That event allocated blocks, or freed them. It has a stamp.
    void add(double objects, double bytes) noexcept {
        objects_.add(objects);
        bytes_.add(bytes);
    }
    // It has none, and is open.
    void add(const OpenEvents &before, const OpenEvents &after) noexcept {
        objects_.add(before.objects, after.objects);
        bytes_.add(before.bytes, after.bytes);
    }

    // The stream ends: its open events happened at some time behind its last stamp.
    void end(const OpenEvents &open) noexcept {
        objects_.end(open.objects, latest_ == &open);
        bytes_.end(open.bytes, latest_ == &open);
    }

    // What a process had in use goes with it.
    void remove(const InUseBounds &process) noexcept {
        objects_.remove(process.objects_);
        bytes_.remove(process.bytes_);
    }

    [[nodiscard]] MostInUse most() const noexcept { return {objects_.most(), bytes_.most()}; }

  private:
    Bounded objects_;
    Bounded bytes_;
    const OpenEvents *latest_ = nullptr; // of the stream that had the latest event
};

} // namespace reap::native
