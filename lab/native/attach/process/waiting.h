// How long the threads of a process have waited for a core.
#pragma once

#include <sys/types.h>

#include <map>

namespace reap::native {

// By /proc/PID/task/TID/schedstat, some 10 us a thread. Time for which a quota of its control group holds a
// thread back is such time, too.
class Waiting {
  public:
    explicit Waiting(pid_t process) : process_(process) {}

    // Seconds in all since the first call, of the threads that live. Negative where the kernel does not say
    // it.
    double seconds();

  private:
    pid_t process_;
    bool begun_ = false;
    double seconds_ = 0;
    std::map<long, double> last_; // by thread
};

} // namespace reap::native
