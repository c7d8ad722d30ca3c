// Lets Hoard be forked while other threads allocate. It is included in front of all of Hoard and defines its
// lock, whose own class the recipe has renamed.
#pragma once

#include "fork-gate.h"
#include "locks/spinlock.h"

namespace HL {

class SpinLockType {
  public:
    void lock() {
        ForkGate::enter();
        lock_.lock();
    }
    void unlock() {
        lock_.unlock();
        ForkGate::leave();
    }

  private:
    BareSpinLock lock_;
};

} // namespace HL
