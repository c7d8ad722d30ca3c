// What groups of sites cost: the peak that would be left without what each drags.
#include "drag/level.h"

#include <algorithm>
#include <unordered_map>

namespace reap::native {
namespace {

// Objects of a group begin or cease to be dragged before a step.
struct Change {
    uint64_t bytes; // added, modulo 2^64
    uint32_t group;
    uint32_t next; // another one before the same step: its number and one more, 0 for none
};

class Groups final : public DragVisitor {
  public:
    Groups(const DragFile &file, DragLevel level, size_t bins,
           const std::vector<std::vector<uint32_t>> &groups, size_t drawn)
        : file_(file), level_(level), stretches_(file.bytes(level), bins), held_(groups.size()),
          drawn_(std::min(drawn, groups.size())), freed(groups.size()), time_{0} {
        for (size_t group = 0; group < groups.size(); ++group) {
            for (const uint32_t stack : groups[group])
                members_[stack].push_back(static_cast<uint32_t>(group));
            if (group < drawn_) freed[group].dragged.resize(bins);
        }
        begin_window();
    }

    void step(const DragStep &step) override {
        const std::vector<DragWindow> &windows = file_.windows();
        if (window_ + 1 < windows.size() && step.place == windows[window_ + 1].begin) {
            close_window();
            ++window_;
            begin_window();
        }
        const uint64_t size = file_.bytes(step, level_);
        live_now_ += size;
        live_.push_back(live_now_);
        before_.resize(std::max(before_.size(), live_.size() + 1));
        time_.push_back(time_.back() + size);
    }

    void ended(const DragLife &life) override {
        if (!file_.counts(life, level_)) return;
        live_now_ -= life.size;
        if (life.last >= begin()) change(life, life.last + size_t{1}, life.size);
        change(life, life.freed + size_t{1}, -life.size);
    }

    void finish() {
        close_window();
        for (DragFreed &each : freed)
            for (double &area : each.dragged) area = stretches_.mean(area);
    }

  private:
    [[nodiscard]] size_t begin() const { return file_.windows()[window_].begin; }

    void change(const DragLife &life, size_t place, uint64_t bytes) {
        const auto found = members_.find(life.stack);
        if (found == members_.end() || life.last == life.freed) return;
        before_.resize(std::max(before_.size(), place - begin() + 1));
        uint32_t &first = before_[place - begin()];
        for (const uint32_t group : found->second) {
            changes_.push_back({bytes, group, first});
            first = static_cast<uint32_t>(changes_.size());
        }
    }

    void begin_window() {
        for (const DragLife &life : file_.windows()[window_].late)
            if (file_.counts(life, level_)) change(life, life.last + size_t{1}, life.size);
    }

    void apply(uint32_t number) {
        for (; number != 0; number = changes_[number - 1].next)
            held_[changes_[number - 1].group] += changes_[number - 1].bytes;
    }

    void close_window() {
        for (size_t i = 0; i < live_.size(); ++i) {
            apply(before_[i]);
            for (size_t group = 0; group < held_.size(); ++group)
                freed[group].peak = std::max(freed[group].peak, live_[i] - held_[group]);
            for (size_t group = 0; group < drawn_; ++group)
                if (held_[group] > 0 && time_[i] != time_[i + 1])
                    stretches_.lay(freed[group].dragged, time_[i], time_[i + 1], held_[group]);
        }
        // What is to change before the next window's first step.
        if (before_.size() > live_.size()) apply(before_[live_.size()]);
        changes_.clear();
        before_.clear();
        time_ = {time_.back()};
        live_.clear();
    }

    const DragFile &file_;
    DragLevel level_;
    DragStretches stretches_;
    std::unordered_map<uint32_t, std::vector<uint32_t>> members_;
    std::vector<uint64_t> held_; // by group: what it drags now
    size_t drawn_;

  public:
    std::vector<DragFreed> freed;

  private:
    std::vector<Change> changes_;
    std::vector<uint32_t> before_; // by step of the window: its first change
    size_t window_ = 0;
    uint64_t live_now_ = 0;
    std::vector<uint64_t> time_; // as those of the summary
    std::vector<uint64_t> live_;
};

} // namespace

std::vector<DragFreed> DragSummary::freed_early(const std::vector<std::vector<uint32_t>> &groups,
                                                size_t drawn) const {
    Groups all(file_, level_, bins_, groups, drawn);
    file_.walk(all);
    all.finish();
    return all.freed;
}

} // namespace reap::native
