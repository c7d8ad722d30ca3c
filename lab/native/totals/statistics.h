// Small accumulators with bounded memory.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace reap::native {

// A quantity over time in a fixed number of bins: when the time outgrows them, pairs of bins are merged.
class Timeline {
  public:
    static constexpr size_t kBins = 1024;

    Timeline(uint64_t start, uint64_t first_width)
        : start_(start), width_(first_width > 0 ? first_width : 1) {}

    struct Bin {
        double high = 0; // highest level in the bin
        double last = 0; // level at its end
        double sum = 0;  // of the counts
        bool seen = false;
    };

    // The level at a moment; a bin keeps the highest. Moments come in order, but for those of events without
    // a stamp. Returns the bin, for its sum.
    Bin &level(uint64_t ticks, double value) {
        Bin &bin = at(ticks);
        if (value > bin.high) bin.high = value;
        bin.last = value;
        bin.seen = true;
        return bin;
    }

    [[nodiscard]] uint64_t start() const noexcept { return start_; }
    [[nodiscard]] uint64_t width() const noexcept { return width_; }
    // Up to the last moment that was seen.
    [[nodiscard]] std::vector<Bin> bins() const {
        return {bins_.begin(), bins_.begin() + static_cast<long>(used_)};
    }

  private:
    Bin &at(uint64_t ticks) {
        if (ticks - bin_start_ < bin_width_ && ticks >= bin_start_) return bins_[bin_]; // nearly always
        uint64_t place = ticks > start_ ? (ticks - start_) / width_ : 0;
        while (place >= kBins) {
            halve();
            place /= 2;
        }
        if (place >= used_) used_ = place + 1;
        bin_ = place;
        bin_start_ = start_ + place * width_;
        bin_width_ = width_;
        return bins_[place];
    }

    void halve() {
        for (size_t i = 0; i < kBins; ++i) {
            if (i >= kBins / 2) {
                bins_[i] = Bin{};
                continue;
            }
            const Bin left = bins_[2 * i];
            const Bin right = bins_[2 * i + 1];
            bins_[i] = {left.high > right.high ? left.high : right.high, right.seen ? right.last : left.last,
                        left.sum + right.sum, left.seen || right.seen};
        }
        used_ = (used_ + 1) / 2;
        width_ *= 2;
    }

    uint64_t start_;
    uint64_t width_;
    size_t used_ = 0;
    // The bin of the last moment, where it begins, and its width, which is 0 before any moment.
    size_t bin_ = 0;
    uint64_t bin_start_ = 0;
    uint64_t bin_width_ = 0;
    std::array<Bin, kBins> bins_{};
};

// Weights by value, in 16 bins an octave: percentiles within 4.5 %.
class LogHistogram {
  public:
    static constexpr unsigned kSubBits = 4;
    static constexpr size_t kBins = (64 - kSubBits + 1) << kSubBits;

    void add(uint64_t value, double weight) {
        weights_[bin(value)] += weight;
        ++samples_;
    }

    static size_t bin(uint64_t value) noexcept {
        if (value < (1u << kSubBits)) return static_cast<size_t>(value);
        const unsigned top = 63u - static_cast<unsigned>(std::countl_zero(value));
        return (static_cast<size_t>(top - kSubBits + 1) << kSubBits) |
               (static_cast<size_t>(value >> (top - kSubBits)) & ((1u << kSubBits) - 1));
    }

    // The middle of a bin.
    static double middle(size_t bin) noexcept {
        const size_t octave = bin >> kSubBits;
        const auto sub = static_cast<double>(bin & ((1u << kSubBits) - 1));
        if (octave == 0) return sub;
        const double unit = static_cast<double>(UINT64_C(1) << (octave - 1));
        return (16.0 + sub + 0.5) * unit;
    }

    // The value that a share of the weight does not exceed; 0 when empty.
    [[nodiscard]] double quantile(double share) const noexcept {
        double total = 0;
        for (const double weight : weights_) total += weight;
        double below = 0;
        for (size_t i = 0; i < kBins; ++i) {
            below += weights_[i];
            if (weights_[i] > 0 && below >= share * total) return middle(i);
        }
        return 0;
    }

    [[nodiscard]] uint64_t samples() const noexcept { return samples_; }

  private:
    std::array<double, kBins> weights_{};
    uint64_t samples_ = 0;
};

// What is in use, and the most that ever was, with the variance of the estimate at that moment.
struct InUse {
    double objects = 0;
    double bytes = 0;
    double bytes_variance = 0;
    double objects_variance = 0;
    double max_objects = 0;
    double max_objects_variance = 0;
    double max_bytes = 0;
    double max_bytes_variance = 0;

    // `weight` blocks of `size` bytes more. Whether this is a new peak of bytes.
    bool add(double weight, double size) noexcept {
        objects += weight;
        bytes += weight * size;
        if (weight != 1) vary(weight, size);
        if (objects > max_objects) {
            max_objects = objects;
            max_objects_variance = objects_variance;
        }
        if (bytes <= max_bytes) return false;
        max_bytes = bytes;
        max_bytes_variance = bytes_variance;
        return true;
    }

    void remove(double weight, double size) noexcept {
        objects -= weight;
        bytes -= weight * size;
        if (weight != 1) vary(weight, size, -1);
    }

    // All of another's blocks at once.
    void remove(const InUse &other) noexcept {
        objects -= other.objects;
        bytes -= other.bytes;
        objects_variance -= other.objects_variance;
        bytes_variance -= other.bytes_variance;
    }

  private:
    // What one sample of this weight contributes to the variance of a count: (1 - p) / p^2 with p = 1 /
    // weight.
    void vary(double weight, double size, double sign = 1) noexcept {
        const double variance = sign * (weight * weight - weight);
        objects_variance += variance;
        bytes_variance += variance * size * size;
    }
};

// Bounds of the most that was in use at once, where some events have no stamp.
//
// Such an event happened between the stamps before and behind it in its stream, or behind the last one. At
// any moment in between the stream has made so many of its events in a row, so what it has in use is between
// the least and the most of their sums; what all streams have, between the sums of those. A stamp says
// exactly what its stream has in use.

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
