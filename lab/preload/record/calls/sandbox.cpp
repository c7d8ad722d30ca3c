// Interposes prctl to detect that a program is about to forbid itself system calls or reading the TSC.
//
// A seccomp filter requires no_new_privs or root. A program that is root and bypasses libc is not detected.
#include <cstdarg>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "slow_path.h"

using namespace reap::preload;

namespace {

void prepare(int option, unsigned long value) noexcept {
    ThreadState &thread = thread_state;
    if (option == PR_SET_TSC) image.forbid_tsc(value == PR_TSC_SIGSEGV);
    if (option != PR_SET_SECCOMP && option != PR_SET_NO_NEW_PRIVS) return;
    if (ready(thread)) image.enter_sandbox(thread, option == PR_SET_SECCOMP && value == SECCOMP_MODE_STRICT);
}

} // namespace

REAP_EXPORT int prctl(int option, ...) noexcept {
    unsigned long values[4];
    va_list list;
    va_start(list, option);
    for (unsigned long &value : values) value = va_arg(list, unsigned long);
    va_end(list);
    prepare(option, values[0]);
    return static_cast<int>(syscall(SYS_prctl, option, values[0], values[1], values[2], values[3]));
}
