#include "attach/start.h"

#include <cerrno>
#include <csignal>
#include <cstddef>
#include <elf.h>
#include <fstream>
#include <string>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "attach/failure.h"

namespace reap::native {
namespace {

constexpr size_t kAddress = offsetof(user, u_debugreg); // of the breakpoint
constexpr size_t kControl = kAddress + 7 * sizeof(user::u_debugreg[0]);
constexpr long kFirstOnExecution = 1;

// Where the program begins, as the kernel tells its loader.
unsigned long entry_of(pid_t process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/auxv", std::ios::binary);
    unsigned long pair[2] = {};
    while (file.read(reinterpret_cast<char *>(pair), sizeof pair) && pair[0] != AT_NULL) {
        if (pair[0] == AT_ENTRY) return pair[1];
    }
    throw AttachFailure("process", EIO);
}

void set_word(pid_t process, size_t offset, unsigned long value) {
    if (::ptrace(PTRACE_POKEUSER, process, offset, value) != 0) throw AttachFailure("process", errno);
}

} // namespace

HeldStart::HeldStart(pid_t process) : process_(process) {
    constexpr unsigned long options = PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    if (::ptrace(PTRACE_SEIZE, process, 0, options) != 0) throw AttachFailure("process", errno);
}

HeldStart::~HeldStart() {
    if (!held_) return;
    ::kill(process_, SIGKILL);
    while (::waitpid(process_, nullptr, __WALL) < 0 && errno == EINTR) {
    }
}

HeldStart::Stop HeldStart::next_stop(const std::function<bool()> &interrupted) {
    if (stopped_) ::ptrace(PTRACE_CONT, process_, 0, 0);
    while (true) {
        int status = 0;
        if (::waitpid(process_, &status, __WALL) < 0) {
            if (errno != EINTR) throw AttachFailure("process", errno);
            interrupted();
            continue;
        }
        if (!WIFSTOPPED(status)) {
            held_ = false;
            return Stop::Ended;
        }
        stopped_ = true;
        const int signal = WSTOPSIG(status);
        const int event = status >> 16;
        if (event == PTRACE_EVENT_EXEC) return Stop::Executed;
        if (event == PTRACE_EVENT_STOP) { // a stop by job control goes on being one
            ::ptrace(PTRACE_LISTEN, process_, 0, 0);
            continue;
        }
        if (signal == SIGTRAP) return Stop::Trapped;
        ::ptrace(PTRACE_CONT, process_, 0, signal);
    }
}

bool HeldStart::is_at(unsigned long address) const {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, process_, 0, &registers) != 0) throw AttachFailure("process", errno);
    return registers.rip == address;
}

bool HeldStart::wait(const std::function<bool()> &interrupted) {
    Stop stop = next_stop(interrupted);
    while (stop != Stop::Ended) {
        const unsigned long entry = entry_of(process_);
        if (is_at(entry)) {
            set_word(process_, kControl, 0);
            return true;
        }
        set_word(process_, kAddress, entry);
        set_word(process_, kControl, kFirstOnExecution);
        stop = next_stop(interrupted);
    }
    return false;
}

void HeldStart::let_go() {
    ::ptrace(PTRACE_DETACH, process_, 0, 0);
    held_ = false;
}

} // namespace reap::native
