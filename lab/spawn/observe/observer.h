/* The interface of what observes the program while it runs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef REAP_SPAWN_OBSERVER_H
#define REAP_SPAWN_OBSERVER_H

#include <sys/types.h>

#include <cstdint>

#include "clock.h"

namespace reap::spawn {

/// Observes one program. The supervisor calls it from its only thread; it must not block.
class Observer {
  public:
    /// The program was forked and waits before exec, so that perf events attached now cover all of it. False
    /// ends the launch with `errno`.
    virtual bool attach(pid_t child) {
        (void)child;
        return true;
    }

    /// When to call `tick` next, in nanoseconds of CLOCK_MONOTONIC; `never` for not at all.
    virtual std::int64_t next_tick() const { return never; }

    /// The time of `next_tick` has come or has passed.
    virtual void tick(std::int64_t now) { (void)now; }

    /// A descriptor to poll for input; -1 for none. `serve` is called when it has some.
    virtual int fd() const { return -1; }
    virtual void serve() {}

    /// Whether a signal that was sent to reap is for the observer, and not to be passed on to the program.
    virtual bool takes(int signal) {
        (void)signal;
        return false;
    }

    /// The program has ended and was waited for; `tick` is not called again.
    virtual void detach() {}

  protected:
    ~Observer() = default;
};

} // namespace reap::spawn

#endif
