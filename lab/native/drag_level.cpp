#include "drag_level.h"

#include <algorithm>
#include <unordered_set>

namespace reap::native {
namespace {

void count(DragCount &into, uint64_t size) {
    ++into.objects;
    into.bytes += size;
}

} // namespace

DragSummary::DragSummary(const DragFile &file, DragLevel level, size_t bins)
    : file_(file), level_(level), bins_(std::max<size_t>(bins, 1)) {
    const std::vector<DragObject> &objects = file.objects();
    const size_t steps = objects.size();
    time_.resize(steps + 1);
    for (size_t i = 0; i < steps; ++i) {
        time_[i + 1] = time_[i] + (counts(objects[i]) ? objects[i].size : 0);
    }
    // Differences first: unsigned, so that they may be below 0 for a while.
    live_.resize(steps + 1);
    std::vector<uint64_t> needed(steps + 1);
    for (size_t i = 0; i < steps; ++i) {
        const DragObject &object = objects[i];
        if (!counts(object)) continue;
        live_[i] += object.size;
        live_[step(object.freed) + 1] -= object.size;
        needed[i] += object.size;
        needed[step(object.last) + 1] -= object.size;
    }
    std::vector<double> live_areas(bins_);
    std::vector<double> needed_areas(bins_);
    curve_.resize(bins_);
    size_t peak_step = 0;
    for (size_t i = 0; i < steps; ++i) {
        if (i > 0) {
            live_[i] += live_[i - 1];
            needed[i] += needed[i - 1];
        }
        if (live_[i] > peak_live_) {
            peak_live_ = live_[i];
            peak_at_ = time_[i];
            peak_step = i;
        }
        peak_needed_ = std::max(peak_needed_, needed[i]);
        if (time_[i] == time_[i + 1]) continue;
        spread(live_areas, i, live_[i]);
        spread(needed_areas, i, needed[i]);
        const auto bin = static_cast<size_t>(static_cast<Area>(time_[i]) * bins_ / time_.back());
        curve_[bin].most_live = std::max(curve_[bin].most_live, live_[i]);
        curve_[bin].most_needed = std::max(curve_[bin].most_needed, needed[i]);
    }
    const double width = static_cast<double>(time_.back()) / static_cast<double>(bins_);
    for (size_t bin = 0; bin < bins_ && width > 0; ++bin) {
        curve_[bin].live = live_areas[bin] / width;
        curve_[bin].needed = needed_areas[bin] / width;
    }
    for (size_t i = 0; i < steps; ++i) {
        const DragObject &object = objects[i];
        if (!counts(object)) continue;
        DragSite &site = sites_[object.stack];
        add(totals_, i, object);
        add(site, i, object);
        if (i > peak_step || step(object.freed) < peak_step) continue;
        site.live_at_peak += object.size;
        if (step(object.last) < peak_step) site.dragged_at_peak += object.size;
    }
}

bool DragSummary::counts(const DragObject &object) const noexcept {
    return level_ == DragLevel::Chunks ? !object.pooled : (object.flags & REAP_DRAG_CHUNK) == 0;
}

size_t DragSummary::step(uint32_t clock) const noexcept { return clock - file_.header().base - 1; }

void DragSummary::add(DragTotals &totals, size_t birth, const DragObject &object) const {
    count(totals.all, object.size);
    if ((object.flags & (REAP_DRAG_READ | REAP_DRAG_WRITTEN)) == 0) count(totals.never, object.size);
    if ((object.flags & (REAP_DRAG_READ | REAP_DRAG_WRITTEN)) == REAP_DRAG_WRITTEN)
        count(totals.write_only, object.size);
    totals.live += static_cast<Area>(object.size) * (time_[step(object.freed) + 1] - time_[birth]);
    totals.needed += static_cast<Area>(object.size) * (time_[step(object.last) + 1] - time_[birth]);
}

// A step's area, over the bins that it lies in.
void DragSummary::spread(std::vector<double> &areas, size_t place, uint64_t height) const {
    const double width = static_cast<double>(time_.back()) / static_cast<double>(bins_);
    const auto end = static_cast<double>(time_[place + 1]);
    auto at = static_cast<double>(time_[place]);
    auto bin = std::min(static_cast<size_t>(at / width), bins_ - 1);
    for (; bin + 1 < bins_ && static_cast<double>(bin + 1) * width < end; ++bin) {
        const double border = static_cast<double>(bin + 1) * width;
        areas[bin] += std::max(0.0, border - at) * static_cast<double>(height);
        at = std::max(at, border);
    }
    areas[bin] += (end - at) * static_cast<double>(height);
}

DragSummary::Freed DragSummary::freed_early(const std::vector<uint32_t> &stacks) const {
    const std::unordered_set<uint32_t> wanted(stacks.begin(), stacks.end());
    const std::vector<DragObject> &objects = file_.objects();
    std::vector<uint64_t> dragged(objects.size() + 1);
    for (const DragObject &object : objects) {
        if (!counts(object) || !wanted.contains(object.stack)) continue;
        dragged[step(object.last) + 1] += object.size;
        dragged[step(object.freed) + 1] -= object.size;
    }
    Freed out;
    out.dragged.resize(bins_);
    uint64_t held = 0;
    for (size_t i = 0; i < objects.size(); ++i) {
        held += dragged[i];
        out.peak = std::max(out.peak, live_[i] - held);
        if (held > 0 && time_[i] != time_[i + 1]) spread(out.dragged, i, held);
    }
    const double width = static_cast<double>(time_.back()) / static_cast<double>(bins_);
    for (double &area : out.dragged) area = width > 0 ? area / width : 0;
    return out;
}

} // namespace reap::native
