// The lives of a process's objects at one level, summed up: areas, peaks, curves, stacks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "drag/file.h"

namespace reap::native {

struct DragCount {
    uint64_t objects = 0;
    uint64_t bytes = 0;
};

// Time is bytes allocated. An object of size s that was allocated by step b, and last needed (or freed) when
// the clock said e, takes part in the steps b to e, each of which lasts as many bytes as it allocates.
struct DragTotals {
    DragCount all;
    DragCount never; // neither read nor written
    DragCount write_only;
    DragCount released; // last accessed in the step of their free, and needed for that
    Area live = 0;      // bytes in use, over time
    Area needed = 0;    // the same if each had been freed at its last access
};

struct DragSite : DragTotals {
    uint64_t live_at_peak = 0;
    uint64_t dragged_at_peak = 0; // in use when most was, and needed no more
};

// A stretch of time of a curve: the mean bytes in use and needed in it, and the most of each.
struct DragBin {
    double live = 0;
    double needed = 0;
    uint64_t most_live = 0;
    uint64_t most_needed = 0;
};

// What would be if the objects of some stacks, and no others, had been freed at their last access.
struct DragFreed {
    uint64_t peak = 0;
    std::vector<double> dragged; // by them in each stretch, on average
};

// Equally long stretches of time, over which areas are laid. Time does not go back.
class DragStretches {
  public:
    DragStretches(uint64_t time, size_t count) : time_(time), count_(count) { enter(0); }

    // So much height from a time to another. Later calls may begin at the same time again, and not earlier.
    void lay(std::vector<double> &areas, uint64_t from, uint64_t to, uint64_t height) {
        if (from >= next_) enter(static_cast<size_t>(static_cast<Area>(from) * count_ / time_));
        if (to <= within_) [[likely]]
            areas[bin_] += static_cast<double>(to - from) * static_cast<double>(height);
        else
            lay_over(areas, static_cast<double>(from), static_cast<double>(to), static_cast<double>(height));
    }
    // That in which the last area began.
    [[nodiscard]] size_t bin() const noexcept { return bin_; }
    [[nodiscard]] double mean(double area) const { return time_ > 0 ? area / width() : 0; }

  private:
    [[nodiscard]] double width() const { return static_cast<double>(time_) / static_cast<double>(count_); }
    void enter(size_t bin);
    void lay_over(std::vector<double> &areas, double from, double to, double height) const;

    uint64_t time_;
    size_t count_;
    size_t bin_ = 0;
    uint64_t within_ = 0; // where its last whole byte ends
    uint64_t next_ = 0;   // the first that begins in a later one
};

// The sums of each stack: most have small numbers, which need no search.
class DragSites {
  public:
    DragSite &operator[](uint32_t stack) {
        if (stack >= kDirect) return sites_[stack];
        if (stack >= direct_.size()) direct_.resize(stack + size_t{1});
        if (direct_[stack] == nullptr) direct_[stack] = &sites_[stack];
        return *direct_[stack];
    }
    [[nodiscard]] const std::map<uint32_t, DragSite> &all() const noexcept { return sites_; }

  private:
    static constexpr uint32_t kDirect = 1 << 20;
    std::map<uint32_t, DragSite> sites_;
    std::vector<DragSite *> direct_;
};

class DragSummary {
  public:
    // Walks twice through the file; in memory are a window's steps, at 24 bytes each, and the sites.
    DragSummary(const DragFile &file, DragLevel level, size_t bins);

    [[nodiscard]] const DragTotals &totals() const noexcept { return totals_; }
    [[nodiscard]] uint64_t peak_live() const noexcept { return peak_live_; }
    [[nodiscard]] uint64_t peak_needed() const noexcept { return peak_needed_; }
    // When most was in use first, in bytes allocated before the step.
    [[nodiscard]] uint64_t peak_at() const noexcept { return peak_at_; }
    [[nodiscard]] const std::vector<DragBin> &curve() const noexcept { return curve_; }
    [[nodiscard]] const std::map<uint32_t, DragSite> &sites() const noexcept { return sites_.all(); }

    // For groups of stacks, each for itself; the curves of the first `drawn`. One walk for all of them.
    [[nodiscard]] std::vector<DragFreed> freed_early(const std::vector<std::vector<uint32_t>> &groups,
                                                     size_t drawn) const;

  private:
    class Sums;
    class AtPeak;

    const DragFile &file_;
    DragLevel level_;
    size_t bins_;
    DragTotals totals_;
    uint64_t peak_live_ = 0;
    uint64_t peak_needed_ = 0;
    uint64_t peak_at_ = 0;
    size_t peak_step_ = 0;
    std::vector<DragBin> curve_;
    DragSites sites_;
};

} // namespace reap::native
