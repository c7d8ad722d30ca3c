/* Memory over a program's run time, as a series of samples.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_METER_H
#define REAP_SPAWN_RESIDENT_METER_H

#include <cstddef>
#include <cstdint>

#include "observe/observer.h"

namespace reap::spawn {

/// Samples the memory of a program and its descendants about 150 times a second, less often if there are
/// many.
///
/// A sample is their proportional set size (PSS): resident memory, of which a page that several processes map
/// counts once in all. The kernel walks the page tables for it, 10 to 30 ns a page, so it is read seldom;
/// between two readings resident memory is sampled, less what was shared at the latest reading. Costs the
/// launcher, not the program, at most 1.5 % of the time.
class ResidentMeter final : public Observer {
  public:
    bool attach(pid_t child) override;
    std::int64_t next_tick() const override { return next_; }
    void tick(std::int64_t now) override;

    /// Writes a line for each sample, `TIME BYTES`, in nanoseconds of CLOCK_MONOTONIC. False if that failed.
    bool write(int file) const;

  private:
    struct Sample {
        std::int64_t at;
        std::uint64_t bytes;
    };
    /// When this is reached, every other sample is dropped, and from then on every other new one.
    static constexpr std::size_t max_samples = 4096;

    void keep(Sample sample);

    std::int64_t next_ = never;
    std::int64_t next_pss_ = 0;
    std::uint64_t shared_ = 0; ///< counted more than once in resident memory, at the latest reading of PSS
    std::uint32_t random_ = 1;
    Sample samples_[max_samples];
    std::size_t count_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t keep_every_ = 1;
};

} // namespace reap::spawn

#endif
