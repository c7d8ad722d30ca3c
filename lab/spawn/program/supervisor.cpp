// SPDX-License-Identifier: MIT
#include "program/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "clock.h"
#include "proc/tree.h"
#include "program/child.h"

namespace reap::spawn {
namespace {

/// How long to wait, after the program has ended, for children that still hold its output open.
constexpr std::int64_t output_grace_ns = 1'000'000'000;
/// Interval between attempts to kill the tree.
constexpr std::int64_t kill_period_ns = 20'000'000;
/// A signal from our parent is forwarded only if it does not also arrive directly: within `forward_delay_ns`
/// after, or `parent_delay_ns` before, as our parent may be slow.
constexpr std::int64_t forward_delay_ns = 50'000'000;
constexpr std::int64_t parent_delay_ns = 1'000'000'000;
constexpr int max_signal = 64;

class Supervisor {
  public:
    Supervisor(const Options &options, Observer &observer, Result &result)
        : options_(options), observer_(observer), result_(result) {}

    void run() {
        if (!prepare_signals()) return fail("signalfd", errno);
        if (!start_child(options_, original_mask_, child_)) return fail("fork", errno);
        if (!observer_.attach(child_.pid)) return abandon("attach", errno);
        if (options_.capture) {
            result_.captured = true;
            result_.output.open(child_.output);
            result_.errors.open(child_.errors);
            if (!keep_output()) return abandon("keep", errno);
        }
        if (!wait_for_start()) return abandon("start", ECANCELED);
        const std::int64_t start = now_ns();
        if (options_.timeout_ns > 0) deadline_ = start + options_.timeout_ns;
        if (const int error = release_child(child_); error != 0) return abandon("exec", error);
        reap_children(); // wait_for_start has consumed the signals that came before
        while (!ended_) step();
        result_.wall_ns = ended_at_ - start;
        observer_.detach();
        drain_leftovers();
        end_leftovers();
    }

  private:
    /// Has both streams appended to the file that is asked for, in the order in which they are read.
    bool keep_output() {
        if (options_.keep == nullptr) return true;
        const int file = open(options_.keep, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if (file < 0) return false;
        result_.output.keep(file);
        result_.errors.keep(file);
        return true;
    }

    void fail(const char *step, int error) {
        result_.failed_step = step;
        result_.failed_errno = error != 0 ? error : EINVAL;
    }

    /// Reports that the program is ready, and waits until all programs that run beside it are. False if a
    /// signal cancels the launch.
    bool wait_for_start() const {
        if (options_.start_fd < 0) return true;
        const char byte = 0;
        while (write(options_.ready_fd, &byte, 1) < 0 && errno == EINTR) {
        }
        close(options_.ready_fd);
        pollfd watched[2] = {{options_.start_fd, POLLIN, 0}, {signals_, POLLIN, 0}};
        bool wanted = true;
        while (wanted && watched[0].revents == 0) {
            wait_for(watched, 2, never);
            wanted = !termination_requested();
        }
        close(options_.start_fd);
        return wanted;
    }

    bool termination_requested() const {
        signalfd_siginfo info;
        while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
                if (static_cast<int>(info.ssi_signo) == signal) return true;
            }
        }
        return false;
    }

    /// Ends a program that was forked and will not run.
    void abandon(const char *step, int error) {
        kill(child_.pid, SIGKILL);
        while (waitpid(child_.pid, nullptr, 0) < 0 && errno == EINTR) {
        }
        fail(step, error);
    }

    bool prepare_signals() {
        parent_ = getppid();
        prctl(PR_SET_PDEATHSIG, SIGTERM);
        sigset_t mask;
        sigemptyset(&mask);
        for (const int signal : {SIGCHLD, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
                                 SIGRTMIN, SIGCONT, SIGTSTP, SIGTTIN, SIGTTOU})
            sigaddset(&mask, signal);
        if (sigprocmask(SIG_BLOCK, &mask, &original_mask_) != 0) return false;
        signals_ = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
        return signals_ >= 0;
    }

    void step() {
        pollfd watched[4] = {{signals_, POLLIN, 0},
                             {result_.output.fd(), POLLIN, 0}, // poll ignores a negative descriptor
                             {result_.errors.fd(), POLLIN, 0},
                             {observer_.fd(), POLLIN, 0}};
        const std::int64_t due = std::min({deadline_, kill_at_, observer_.next_tick(), next_forward()});
        wait_for(watched, 4, due);
        handle_signals();
        if (watched[3].revents != 0) observer_.serve();
        if (watched[1].revents != 0) result_.output.drain();
        if (watched[2].revents != 0) result_.errors.drain();
        const std::int64_t now = now_ns();
        if (!ended_) forward_signals(now);
        if (!ended_ && observer_.next_tick() <= now) observer_.tick(now);
        if (!ended_ && now >= deadline_) {
            deadline_ = never;
            result_.timed_out = true;
            end_tree();
        }
        if (!ended_ && now >= kill_at_) {
            signal_tree(SIGKILL);
            kill_at_ = now + kill_period_ns;
        }
    }

    static void wait_for(pollfd *watched, nfds_t count, std::int64_t due) {
        timespec timeout{};
        if (due != never) {
            const std::int64_t left = std::max<std::int64_t>(due - now_ns(), 0);
            timeout = {left / 1'000'000'000, left % 1'000'000'000};
        }
        ppoll(watched, count, due == never ? nullptr : &timeout, nullptr);
    }

    void handle_signals() {
        signalfd_siginfo info;
        while (read(signals_, &info, sizeof info) == static_cast<ssize_t>(sizeof info)) {
            const int signal = static_cast<int>(info.ssi_signo);
            if (signal == SIGCHLD) {
                mirror_stops();
                reap_children();
            } else if (getppid() != parent_ || signal == SIGRTMIN) {
                // Our parent has died, or asks us to end the tree at once.
                end_tree();
            } else if (info.ssi_pid == static_cast<std::uint32_t>(parent_) && observer_.takes(signal)) {
                continue; // what is sent to a whole group reaches the program without us
            } else if (options_.capture) {
                if (signal == SIGTERM && terminating_) {
                    end_tree();
                } else {
                    kill(-child_.pid, signal);
                }
            } else {
                schedule_forward(signal, info.ssi_pid == static_cast<std::uint32_t>(parent_));
            }
            if (signal == SIGTERM) terminating_ = true;
        }
    }

    /// The program also receives what a terminal, timeout(1), `kill 0` or a service manager sends to the
    /// whole group. A signal that is sent to our parent alone, which passes it on, must be forwarded by us.
    void schedule_forward(int signal, bool from_parent) {
        Forward &forward = forwards_[signal];
        const std::int64_t now = now_ns();
        if (signal == SIGCONT && stopped_) kill(child_.pid, SIGCONT); // it may have changed its group
        if (!from_parent) {
            forward = {now, never};
        } else if (forward.sent_to_all == never || now - forward.sent_to_all > parent_delay_ns) {
            forward.due = now + forward_delay_ns;
        }
    }

    /// Stops and continues our parent with the program, for a shell with job control. We and our parent do
    /// not stop on Ctrl-Z ourselves: the program may ignore it, or restore the terminal first.
    void mirror_stops() {
        siginfo_t info{};
        while (!options_.capture &&
               waitid(P_PID, static_cast<id_t>(child_.pid), &info, WSTOPPED | WCONTINUED | WNOHANG) == 0 &&
               info.si_pid != 0) {
            mirror(info.si_code == CLD_STOPPED);
            info = {};
        }
    }

    void mirror(bool stopped) {
        if (stopped == stopped_) return;
        stopped_ = stopped;
        kill(parent_, stopped ? SIGSTOP : SIGCONT);
    }

    std::int64_t next_forward() const {
        std::int64_t due = never;
        for (const Forward &forward : forwards_) due = std::min(due, forward.due);
        return due;
    }

    void forward_signals(std::int64_t now) {
        for (int signal = 1; signal <= max_signal; ++signal) {
            if (forwards_[signal].due > now) continue;
            forwards_[signal].due = never;
            kill(child_.pid, signal);
        }
    }

    void reap_children() {
        int status = 0;
        rusage usage{};
        // Also waits for orphans of a tree that is being ended; only the program counts.
        for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
            if (pid != child_.pid) continue;
            ended_at_ = now_ns();
            ended_ = true;
            mirror(false);
            result_.wait_status = status;
            result_.usage = usage;
        }
    }

    void signal_tree(int signal) const {
        if (options_.capture) kill(-child_.pid, signal);
        signal_descendants(getpid(), signal);
    }

    void end_tree() {
        if (kill_at_ != never) return;
        // From now on orphans are reparented to the launcher, where a walk of /proc finds them. Not earlier:
        // a daemon may wait until its parent is init.
        prctl(PR_SET_CHILD_SUBREAPER, 1);
        signal_tree(SIGTERM);
        signal_tree(SIGCONT);
        kill_at_ = now_ns() + options_.grace_ns;
    }

    /// Reads the rest of the output: what is in the pipes, and what surviving children write soon.
    void drain_leftovers() {
        const std::int64_t until = now_ns() + output_grace_ns;
        while ((result_.output.fd() >= 0 || result_.errors.fd() >= 0) && now_ns() < until) {
            pollfd watched[2] = {{result_.output.fd(), POLLIN, 0}, {result_.errors.fd(), POLLIN, 0}};
            wait_for(watched, 2, until);
            result_.output.drain();
            result_.errors.drain();
        }
    }

    /// No process of a measured program may run beside the next one; after a timeout, no descendant at all.
    void end_leftovers() const {
        if (options_.capture) kill(-child_.pid, SIGKILL);
        if (kill_at_ != never) signal_descendants(getpid(), SIGKILL);
    }

    /// A signal for the program.
    struct Forward {
        std::int64_t sent_to_all = never; ///< when it last arrived directly, not from our parent
        std::int64_t due = never;         ///< when to forward it, unless it arrives directly until then
    };

    const Options &options_;
    Observer &observer_;
    Result &result_;
    Child child_;
    sigset_t original_mask_{};
    int signals_ = -1;
    pid_t parent_ = 0;
    Forward forwards_[max_signal + 1];
    bool terminating_ = false;
    bool stopped_ = false; ///< the program is stopped, and with it our parent
    bool ended_ = false;
    std::int64_t ended_at_ = 0;
    std::int64_t deadline_ = never;
    std::int64_t kill_at_ = never;
};

} // namespace

void supervise(const Options &options, Observer &observer, Result &result) {
    Supervisor(options, observer, result).run();
}

} // namespace reap::spawn
