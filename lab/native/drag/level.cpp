#include "drag/level.h"

#include <algorithm>

namespace reap::native {
namespace {

void count(DragCount &into, const DragLife &life) {
    into.objects += life.whole ? 1 : 0;
    into.bytes += life.size;
}

} // namespace

void DragStretches::enter(size_t bin) {
    bin_ = std::min(bin, count_ - 1);
    const Area border = static_cast<Area>(time_) * (bin_ + 1);
    within_ = static_cast<uint64_t>(border / count_);
    next_ = bin_ + 1 == count_ ? UINT64_MAX : static_cast<uint64_t>((border + count_ - 1) / count_);
}

void DragStretches::lay_over(std::vector<double> &areas, double from, double to, double height) const {
    size_t bin = bin_;
    for (; bin + 1 < count_ && static_cast<double>(bin + 1) * width() < to; ++bin) {
        const double border = static_cast<double>(bin + 1) * width();
        areas[bin] += std::max(0.0, border - from) * height;
        from = std::max(from, border);
    }
    areas[bin] += (to - from) * height;
}

// Areas are sums of size times the time of the end, less size times the time of the birth. Unsigned, so that
// they may be below 0 for a while. What is needed at a step is known once its window is over.
class DragSummary::Sums final : public DragVisitor {
  public:
    explicit Sums(DragSummary &summary)
        : to_(summary), stretches_(summary.file_.bytes(summary.level_), summary.bins_),
          live_areas_(to_.bins_), needed_areas_(to_.bins_), time_{0} {}

    void step(const DragStep &step) override {
        const std::vector<DragWindow> &windows = to_.file_.windows();
        if (window_ + 1 < windows.size() && step.place == windows[window_ + 1].begin) close_window();
        const uint64_t size = to_.file_.bytes(step, to_.level_);
        if (to_.file_.counts(step, to_.level_)) {
            DragSite &site = to_.sites_[step.stack];
            for (DragTotals *totals : {&to_.totals_, static_cast<DragTotals *>(&site)}) {
                ++totals->all.objects;
                totals->all.bytes += size;
                totals->live -= static_cast<Area>(size) * now();
                totals->needed -= static_cast<Area>(size) * now();
            }
        }
        live_now_ += size;
        if (live_now_ > to_.peak_live_) {
            to_.peak_live_ = live_now_;
            to_.peak_at_ = now();
            to_.peak_step_ = step.place;
        }
        live_.push_back(live_now_);
        unneeded_.push_back(0);
        time_.push_back(now() + size);
    }

    void ended(const DragLife &life) override {
        if (!to_.file_.counts(life, to_.level_)) return;
        live_now_ -= life.size;
        const uint8_t touched = life.flags & (REAP_DRAG_READ | REAP_DRAG_WRITTEN);
        DragSite &site = to_.sites_[life.stack];
        for (DragTotals *totals : {&to_.totals_, static_cast<DragTotals *>(&site)}) {
            if (touched == 0) count(totals->never, life);
            if (touched == REAP_DRAG_WRITTEN) count(totals->write_only, life);
            if (life.used != life.last) count(totals->released, life);
            totals->live += static_cast<Area>(life.size) * now();
        }
        if (life.last >= begin()) needed_until(life, site);
    }

    void finish() {
        close_window();
        for (size_t bin = 0; bin < to_.bins_; ++bin) {
            to_.curve_[bin].live = stretches_.mean(live_areas_[bin]);
            to_.curve_[bin].needed = stretches_.mean(needed_areas_[bin]);
        }
    }

  private:
    [[nodiscard]] uint64_t now() const { return time_.back(); }
    [[nodiscard]] size_t begin() const { return to_.file_.windows()[window_].begin; }

    void needed_until(const DragLife &life, DragSite &site) {
        const size_t place = life.last - begin();
        unneeded_[place] += life.size;
        to_.totals_.needed += static_cast<Area>(life.size) * time_[place + 1];
        site.needed += static_cast<Area>(life.size) * time_[place + 1];
    }

    void close_window() {
        for (const DragLife &life : to_.file_.windows()[window_].late)
            if (to_.file_.counts(life, to_.level_)) needed_until(life, to_.sites_[life.stack]);
        for (size_t i = 0; i < live_.size(); ++i) {
            const uint64_t width = time_[i + 1] - time_[i];
            needed_now_ += width;
            to_.peak_needed_ = std::max(to_.peak_needed_, needed_now_);
            if (width > 0) {
                stretches_.lay(live_areas_, time_[i], time_[i + 1], live_[i]);
                stretches_.lay(needed_areas_, time_[i], time_[i + 1], needed_now_);
                DragBin &bin = to_.curve_[stretches_.bin()];
                bin.most_live = std::max(bin.most_live, live_[i]);
                bin.most_needed = std::max(bin.most_needed, needed_now_);
            }
            needed_now_ -= unneeded_[i];
        }
        time_ = {now()};
        live_.clear();
        unneeded_.clear();
        ++window_;
    }

    DragSummary &to_;
    DragStretches stretches_;
    std::vector<double> live_areas_;
    std::vector<double> needed_areas_;
    size_t window_ = 0;
    uint64_t live_now_ = 0;
    uint64_t needed_now_ = 0;
    // Of the window, by step: bytes allocated before it (one more at the end), in use, needed in it last.
    std::vector<uint64_t> time_;
    std::vector<uint64_t> live_;
    std::vector<uint64_t> unneeded_;
};

class DragSummary::AtPeak final : public DragVisitor {
  public:
    explicit AtPeak(DragSummary &summary) : to_(summary) {}
    void step(const DragStep &) override {}
    void ended(const DragLife &life) override {
        if (life.birth > to_.peak_step_ || life.freed < to_.peak_step_) return;
        if (!to_.file_.counts(life, to_.level_)) return;
        DragSite &site = to_.sites_[life.stack];
        site.live_at_peak += life.size;
        if (life.last < to_.peak_step_) site.dragged_at_peak += life.size;
    }

  private:
    DragSummary &to_;
};

DragSummary::DragSummary(const DragFile &file, DragLevel level, size_t bins)
    : file_(file), level_(level), bins_(std::max<size_t>(bins, 1)) {
    curve_.resize(bins_);
    Sums sums(*this);
    file.walk(sums);
    sums.finish();
    AtPeak at_peak(*this);
    file.walk(at_peak);
}

} // namespace reap::native
