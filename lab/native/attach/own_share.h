// How much CPU time a process used for itself in a window, where probes took the rest.
#pragma once

#include <algorithm>
#include <cstdint>

namespace reap::native {

// Takes samples of that time, which need no cost of a probe: on a busy machine that is twice and more of what
// was measured, and the process's own time a small difference of two large figures. A probe also slows the
// code that runs after it, in a virtual machine by some 3 % of its own cost, and that counts as the process's
// own time: where it uses little more for itself, it is known as an upper bound.
class OwnShare {
  public:
    struct Window {
        double cpu = 0;    // of the process, in seconds
        double probes = 0; // what probes took of it, by calibration
        double calls = 0;  // that met a probe
        uint64_t samples = 0;
        uint64_t own = 0; // samples of what was no probe
    };
    struct Own {
        double seconds = 0;
        bool known = false; // else it is at most as much
    };

    // Returns it for each window in turn. One with few own samples is taken together with those before it:
    // each call of theirs had as much of the process's own time.
    Own add(const Window &window) {
        if (window.samples == 0) {
            const double own = window.cpu - window.probes;
            return {std::max(own, window.cpu * kLeast), own >= window.cpu * kCalibrated};
        }
        const auto own = static_cast<double>(window.own);
        const double before = own >= kEnough ? 0 : std::min((kEnough - own) / std::max(own_, 1.0), 1.0);
        cpu_ = cpu_ * before + window.cpu;
        calls_ = calls_ * before + window.calls;
        samples_ = samples_ * before + static_cast<double>(window.samples);
        own_ = own_ * before + own;
        // Adds one to both: the mean of its reciprocal, by which calls are multiplied, is then right.
        const double seconds = cpu_ * (own_ + 1) / (samples_ + 1) * (calls_ > 0 ? window.calls / calls_ : 1);
        return {std::min(seconds, window.cpu), own_ >= kKnown && own_ >= samples_ * kResolved};
    }

  private:
    static constexpr double kEnough = 10;      // samples, for a third more or less
    static constexpr double kKnown = 4;        // and for half
    static constexpr double kResolved = 0.125; // of all samples: four times what only seems its own
    static constexpr double kLeast = 0.1;
    static constexpr double kCalibrated = 0.5; // a probe may cost twice of what was measured

    double cpu_ = 0; // of the windows that are taken together
    double calls_ = 0;
    double samples_ = 0;
    double own_ = 0;
};

} // namespace reap::native
