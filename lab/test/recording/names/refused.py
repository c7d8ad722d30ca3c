"""Kernels that refuse a system call, and machines that do."""

import subprocess

import pytest
from programs import compile_c

from reap import native

SOURCE = r"""
    #include <errno.h>
    #include <linux/filter.h>
    #include <linux/seccomp.h>
    #include <stddef.h>
    #include <sys/prctl.h>
    #include <sys/syscall.h>
    #include <unistd.h>
    #define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
    #define UNLESS(value, steps) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, steps)
    #define GIVE(action) BPF_STMT(BPF_RET | BPF_K, action)
    int main(int count, char **words) {
        struct sock_filter filter[] = {LOAD(nr), UNLESS(CALL, 3), LOAD(args[0]), UNLESS(FIRST, 1),
                                       GIVE(ACTION), GIVE(SECCOMP_RET_ALLOW)};
        struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 1;
        execv(words[1], words + 1);
        return 2;
    }"""


def needs_confinement(*, unprivileged: bool = True, filtered: bool = True) -> None:
    """Skips the test where a parser of this process cannot be confined so."""
    has_user, has_filter = native.confinement()
    if unprivileged and not has_user:
        pytest.skip("a parser cannot become nobody here")
    if filtered and not has_filter:
        pytest.skip("no seccomp here")


def needs_to_run(*before: str) -> None:
    """Skips the test where these words cannot start a program."""
    if subprocess.run([*before, "/bin/true"], check=False, capture_output=True).returncode != 0:
        pytest.skip(f"{before[0]} is refused here")


def no_seccomp() -> str:
    """The path of a program that runs its words as on a kernel without filters of system calls."""
    flags = ["-DCALL=SYS_prctl", "-DFIRST=PR_SET_SECCOMP", "-DACTION=SECCOMP_RET_ERRNO|EINVAL"]
    return compile_c("no-seccomp", SOURCE, flags)


def dying_parsers() -> str:
    """The path of one that runs its words where a process ends that changes its user to nobody's."""
    flags = ["-DCALL=SYS_setresuid", "-DFIRST=65534", "-DACTION=SECCOMP_RET_KILL_PROCESS"]
    return compile_c("dying-parsers", SOURCE, flags)
