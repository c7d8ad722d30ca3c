// How much of its time a process may pay for being watched.
#pragma once

#include <algorithm>
#include <cmath>

namespace reap::native {

// What a process has used, and what it has paid, since any one moment; in seconds.
struct ProcessTime {
    double wall = 0;
    double cpu = 0;    // of all threads
    double cost = 0;   // of it for probes
    double waited = 0; // of all threads, for a core
};

// A process earns a share of the CPU time that it uses for itself, or of a core while it sleeps, and pays for
// probes with it. A thread that waits for a core does not sleep: beside busy processes the share is that of
// the CPU time that the process gets. What is saved is limited, so that a quiet hour is no reason to slow
// down the busy minute after it.
class CostBudget {
  public:
    static constexpr double kIdleShare = 0.01;   // of one core: nobody notices less
    static constexpr double kWindow = 0.02;      // what a window may cost, in seconds
    static constexpr double kLeastWindow = 1e-3; // one without savings

    // Of a recording of so many seconds. The first window is not paid for before it begins: it costs a small
    // part of what a busy process earns in that time.
    void begin(double share, double seconds, const ProcessTime &now) {
        share_ = share;
        last_ = now;
        first_ = std::min(share * seconds * kFirstPart, kWindow);
    }

    // Lends to a process that may end soon: for its first window, and as much again in its first second of
    // CPU time, most of it early, so that windows are spread over a run of any length. It is paid back in the
    // three seconds after that.
    void lend() {
        lends_ = true;
        saved_ = lent();
    }

    // Returns what the process has saved since the last call; negative: it paid more than it earned.
    double settle(const ProcessTime &now) {
        const double own = now.cpu - last_.cpu - (now.cost - last_.cost);
        // A wait is counted when it is over, so that it may be longer than the time since the last call.
        const double idle = idle_of(now) - owed_;
        owed_ = std::clamp(-idle, 0.0, kMostOwed);
        const double before = lent();
        own_ += own;
        const double change =
            std::max({own * share_, idle * kIdleShare, 0.0}) + lent() - before - (now.cost - last_.cost);
        saved_ = std::min(saved_ + change, 2 * std::max(kWindow, next_));
        last_ = now;
        return change;
    }

    // Whether what is saved pays for `times` windows like the last ones, if no thread waits for a core, or as
    // it was when it was settled. Windows are paid for before they begin.
    [[nodiscard]] bool could_pay(double times, ProcessTime now) const {
        now.waited = last_.waited;
        CostBudget optimistic = *this;
        optimistic.settle(now);
        return optimistic.pays(times);
    }
    [[nodiscard]] bool pays(double times) const { return saved_ >= times * next_; }

    // A window has ended, and its probes are removed. `cost`: of setting, watching and removing; `fixed`: the
    // part of it that is paid however short the window is.
    void ended(double cost, double fixed) {
        const double first = lends_ ? std::min(cost, fixed + kLentWindow) : cost;
        next_ = next_ > 0 ? (next_ + cost) / 2 : first;
        fixed_ = fixed_ > 0 ? (fixed_ + fixed) / 2 : fixed;
        first_ = 0;
    }

    // What a window that begins now may cost until its probes are removed.
    [[nodiscard]] double of_window() const {
        return std::clamp(std::max(saved_ - fixed_, first_), kLeastWindow, kWindow);
    }

  private:
    static constexpr double kMostOwed = 0.2;
    static constexpr double kFirstPart = 0.02;
    static constexpr double kLends = 1; // seconds of its own CPU time
    static constexpr double kRepaid = 4;
    static constexpr double kEarly = 0.01;
    static constexpr double kLentWindow = kWindow / 8;

    // Time that is lent at this moment.
    [[nodiscard]] double lent() const {
        if (!lends_ || own_ >= kRepaid) return 0;
        if (own_ >= kLends) return 2 * kWindow * (kRepaid - own_) / (kRepaid - kLends);
        return kWindow * (1 + std::log1p(std::max(own_, 0.0) / kEarly) / std::log1p(kLends / kEarly));
    }

    [[nodiscard]] double idle_of(const ProcessTime &now) const {
        return now.wall - last_.wall - (now.cpu - last_.cpu) - (now.waited - last_.waited);
    }

    double share_ = 0;
    bool lends_ = false;
    double own_ = 0;   // CPU time since the begin
    double first_ = 0; // what the first window may cost
    ProcessTime last_;
    double saved_ = 0;
    double owed_ = 0; // of idle time
    double next_ = 0; // what a window costs, on average
    double fixed_ = 0;
};

} // namespace reap::native
