// The lives of a process's objects at one level, summed up: areas, peaks, curves, stacks.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "drag_file.h"

namespace reap::native {

// Objects are what the program asked for last: blocks, and what pools carved out of them instead of those
// blocks. Chunks are blocks of the malloc family, whatever is in them.
enum class DragLevel : uint8_t { Objects, Chunks };

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
    Area live = 0;   // bytes in use, over time
    Area needed = 0; // the same if each had been freed at its last access
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

class DragSummary {
  public:
    // Costs a few passes over the objects, and 16 bytes of memory for each.
    DragSummary(const DragFile &file, DragLevel level, size_t bins);

    [[nodiscard]] const DragTotals &totals() const noexcept { return totals_; }
    [[nodiscard]] uint64_t peak_live() const noexcept { return peak_live_; }
    [[nodiscard]] uint64_t peak_needed() const noexcept { return peak_needed_; }
    // When most was in use first, in bytes allocated before the step.
    [[nodiscard]] uint64_t peak_at() const noexcept { return peak_at_; }
    [[nodiscard]] const std::vector<DragBin> &curve() const noexcept { return curve_; }
    [[nodiscard]] const std::map<uint32_t, DragSite> &sites() const noexcept { return sites_; }

    // The peak that would be left if the objects of these stacks had been freed at their last access, and
    // what they drag in each bin of the curve on average. A pass over the objects.
    struct Freed {
        uint64_t peak = 0;
        std::vector<double> dragged;
    };
    [[nodiscard]] Freed freed_early(const std::vector<uint32_t> &stacks) const;

  private:
    [[nodiscard]] bool counts(const DragObject &object) const noexcept;
    [[nodiscard]] size_t step(uint32_t clock) const noexcept; // the place of the step that led to this clock
    void add(DragTotals &totals, size_t birth, const DragObject &object) const;
    void spread(std::vector<double> &areas, size_t place, uint64_t height) const;

    const DragFile &file_;
    DragLevel level_;
    size_t bins_;
    std::vector<uint64_t> time_; // by step: bytes allocated before it; one more at the end
    std::vector<uint64_t> live_; // by step: bytes in use
    DragTotals totals_;
    uint64_t peak_live_ = 0;
    uint64_t peak_needed_ = 0;
    uint64_t peak_at_ = 0;
    std::vector<DragBin> curve_;
    std::map<uint32_t, DragSite> sites_;
};

} // namespace reap::native
