#include "leftovers.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

namespace reap::kit {
namespace {

// Whether no child is left; all processes that lose their parent become ours.
bool reap_children(int how) {
    pid_t ended = 0;
    do {
        ended = ::waitpid(-1, nullptr, how);
    } while (ended > 0 || (ended < 0 && errno == EINTR));
    return ended < 0;
}

} // namespace

void end_leftovers() {
    if (::getpid() != 1) return;
    ::kill(-1, SIGTERM);
    constexpr timespec kMoment{0, 10'000'000};
    for (int i = 0; i < 100; ++i) {
        if (reap_children(WNOHANG)) return;
        ::nanosleep(&kMoment, nullptr);
    }
    ::kill(-1, SIGKILL);
    reap_children(0);
}

} // namespace reap::kit
