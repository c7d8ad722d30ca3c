/* Resident memory over a program's run time, as two figures.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_METER_H
#define REAP_SPAWN_RESIDENT_METER_H

#include <cstddef>
#include <cstdint>

#include "observe/observer.h"

namespace reap::spawn {

/// Samples the resident memory of a program and its descendants about 150 times a second, less often if there
/// are many. A sample costs the launcher, not the program, a few microseconds per process; sampling takes at
/// most a twentieth of the time.
class ResidentMeter final : public Observer {
  public:
    static constexpr std::int64_t not_sampled = -1;

    bool attach(pid_t child) override;
    std::int64_t next_tick() const override { return next_; }
    void tick(std::int64_t now) override;

    /// Mean bytes over the time until the last sample; `not_sampled` if the program ended before the first.
    std::int64_t mean() const;
    /// The median of the samples in the second half of that time, so that what a program frees at its very
    /// end has no effect.
    std::int64_t late() const;

  private:
    struct Sample {
        std::int64_t at;
        std::int64_t bytes;
    };
    /// When this is reached, every other sample is dropped, and from then on every other new one.
    static constexpr std::size_t max_samples = 4096;

    void keep(Sample sample);

    std::int64_t begin_ = 0;
    std::int64_t last_sample_ = 0;
    std::int64_t next_ = never;
    double byte_seconds_ = 0;
    std::uint32_t random_ = 1;
    Sample samples_[max_samples];
    std::size_t count_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t keep_every_ = 1;
};

} // namespace reap::spawn

#endif
