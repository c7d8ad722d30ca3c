/* reap-spawn: runs one program and reports its resource usage.
 *
 * It exists because a parent's size shows up in its child's ru_maxrss: a Python process of 200 MB cannot
 * start a program and learn its peak memory. This launcher is static and stays under 1 MB. It computes
 * nothing.
 *
 * Exits with 0 if it wrote a result (whatever the outcome of the program), 2 on a wrong command line, 125 if
 * it could not write the result.
 *
 * SPDX-License-Identifier: MIT
 */
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <signal.h>
#include <unistd.h>

#include "observe/resident_meter.h"
#include "observe/sampler.h"
#include "observe/watcher.h"
#include "options.h"
#include "perf/check_sampling.h"
#include "perf/event_counter.h"
#include "program/attached.h"
#include "program/private_view.h"
#include "program/supervisor.h"
#include "standard_streams.h"

namespace {

/// A process that ignores SIGCHLD cannot wait for its children: the launcher resets it, the program inherits
/// it.
void stop_ignoring_children(reap::spawn::Options &options) {
    struct sigaction action{};
    if (sigaction(SIGCHLD, nullptr, &action) != 0 || action.sa_handler != SIG_IGN) return;
    signal(SIGCHLD, SIG_DFL);
    options.ignored |= std::uint64_t{1} << (SIGCHLD - 1);
}

} // namespace

int main(int argc, char **argv) {
    using namespace reap::spawn;
    fill_standard_streams();
    const pid_t parent = getppid();
    static Options options; // static: it must outlive all that points into it
    if (!parse_options(argc, argv, environ, options)) return 2;
    if (fcntl(options.result_fd, F_GETFD) < 0) {
        std::fprintf(stderr, "reap-spawn: descriptor %d for the result: %s\n", options.result_fd,
                     std::strerror(errno));
        return 2;
    }
    if (options.check_sampling) return check_sampling(options.result_fd) ? 0 : 125;
    for (const int ours : {options.result_fd, options.ready_fd, options.start_fd}) {
        if (ours > STDERR_FILENO) fcntl(ours, F_SETFD, FD_CLOEXEC);
    }
    stop_ignoring_children(options);
    static Result result;
    if (options.attach != 0) {
        static Watcher watcher(options.trace, nullptr, nullptr, options.watch);
        return watch_running(options.attach, options.timeout_ns, watcher, options.result_fd) ? 0 : 125;
    }
    // Opened here, as a private view may cover its folder.
    const int samples = options.resident != nullptr
                            ? open(options.resident, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600)
                            : -1;
    static PrivateView view;
    if (options.private_folders > 0 && !view.enter(options, result))
        return write_result(options.result_fd, result) ? 0 : 125;
    if (options.trace != nullptr && options.watch.any) {
        static Watcher watcher(options.trace, options.socket, options.held, options.watch);
        supervise(options, watcher, result);
    } else if (options.trace != nullptr) {
        static Sampler sampler(options.trace, options.socket, options.held);
        supervise(options, sampler, result);
    } else if (options.count) {
        EventCounter counter(options.event);
        supervise(options, counter, result);
        result.events = counter.events();
    } else if (options.resident != nullptr) {
        static ResidentMeter meter;
        supervise(options, meter, result);
        if (samples >= 0 && !meter.write(samples)) std::perror("reap-spawn: --resident");
    } else {
        class : public Observer {
        } no_observer;
        supervise(options, no_observer, result);
    }
    view.measure(result);
    // Whoever started us and made it has been killed, and reads no result.
    if (getppid() != parent && options.private_folders > 0) rmdir(options.private_at);
    return write_result(options.result_fd, result) ? 0 : 125;
}
