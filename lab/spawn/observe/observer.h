/* The seam for whoever watches the program while it runs (the sampler).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_OBSERVER_H
#define REAP_SPAWN_OBSERVER_H

#include <sys/types.h>

#include <cstdint>

#include "clock.h"

namespace reap::spawn {

/// Watches one program. The supervisor calls it from its only thread; it must not block.
class Observer {
  public:
    /// The program was forked and waits to be released: it has not executed yet, so that what is
    /// attached now (perf events, ...) sees all of it. False ends the launch with `errno`.
    virtual bool attach(pid_t child) {
        (void)child;
        return true;
    }

    /// When `tick` wants to be called next, in nanoseconds of CLOCK_MONOTONIC; `never` for not at all.
    virtual std::int64_t next_tick() const { return never; }

    /// The moment of `next_tick` has come, or has passed.
    virtual void tick(std::int64_t now) { (void)now; }

    /// A descriptor that wants to be polled for input; -1 for none. `serve` is called when there is some.
    virtual int fd() const { return -1; }
    virtual void serve() {}

    /// The program has ended (and was waited for); `tick` is not called again.
    virtual void detach() {}

  protected:
    ~Observer() = default;
};

} // namespace reap::spawn

#endif
