/* Resident memory over a program's time, as two figures.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_RESIDENT_METER_H
#define REAP_SPAWN_RESIDENT_METER_H

#include <cstddef>
#include <cstdint>

#include "observe/observer.h"

namespace reap::spawn {

/// Looks about 150 times a second at what a program and its descendants have resident together, less often
/// where there are many. A look costs some microseconds a process, of the launcher's time and not of the
/// program's, and looking a twentieth of the time at most.
class ResidentMeter final : public Observer {
  public:
    static constexpr std::int64_t unseen = -1;

    bool attach(pid_t child) override;
    std::int64_t next_tick() const override { return next_; }
    void tick(std::int64_t now) override;

    /// Bytes in the mean over the time until the last look; `unseen` for a program that ended before one.
    std::int64_t mean() const;
    /// The median of the looks in the second half of that time: what a program frees at its very end, and
    /// what goes while it ends, is not in it.
    std::int64_t late() const;

  private:
    struct Look {
        std::int64_t at;
        std::int64_t bytes;
    };
    /// More looks than this, and every other one is let go, of those that come as of those that are kept.
    static constexpr std::size_t most = 4096;

    void keep(Look look);

    std::int64_t begin_ = 0;
    std::int64_t seen_until_ = 0;
    std::int64_t next_ = never;
    double byte_seconds_ = 0;
    std::uint32_t random_ = 1;
    Look looks_[most];
    std::size_t count_ = 0;
    std::uint64_t seen_ = 0;
    std::uint64_t one_in_ = 1;
};

} // namespace reap::spawn

#endif
