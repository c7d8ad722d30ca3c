"""Cost of a process tree so far: the difference of two readings is the cost of a load between them."""

import os
import time
from pathlib import Path

from reap.base.records import Record
from reap.launch.process import smaps

_TICK_NS = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_TRIES = 10
"""Readings until one in which no process ends."""
_SCHEDULER_CLOCK = 2
"""CPUCLOCK_SCHED of the kernel's include/linux/posix-timers.h: the time a process ran, in nanoseconds."""


class Usage(Record):
    """Costs of the descendants of a process, of whichever user, with all of their threads.

    CPU time of living processes is exact to the nanosecond. That of processes that ended is known once a
    process of the tree, or its root, has waited for them, in clock ticks (10 ms). A process that ignores
    SIGCHLD waits for none of its children: their costs are lost.
    """

    cpu_ns: int
    minor_faults: int
    major_faults: int
    resident: int
    """Bytes that are resident now, summed over the processes: shared pages count in each."""
    processes: int


def usage(root: int) -> Usage:
    """The costs of all descendants of `root`, those that it has waited for included, but not its own."""
    for _ in range(_TRIES):
        found, whole = _read(root)
        if whole:
            break
    return found


def _read(root: int) -> tuple[Usage, bool]:
    """One reading; and whether no process ended meanwhile, whose costs might be in none of its figures."""
    cpu_ns = minor = major = resident = 0
    whole = True
    tree = smaps.descendants(root)
    for pid in [root, *tree]:
        own_ns, fields = _cpu_ns(pid), _stat(pid)
        if own_ns is None or not fields:
            whole = False
            continue
        # By proc_pid_stat(5), from the third field on: 11 is cminflt, 13 cmajflt, 16 cutime, 17 cstime.
        minor += int(fields[8])
        major += int(fields[10])
        cpu_ns += (int(fields[13]) + int(fields[14])) * _TICK_NS
        if pid != root:
            minor += int(fields[7])
            major += int(fields[9])
            resident += int(fields[21]) * _PAGE
            cpu_ns += own_ns
    found = Usage(
        cpu_ns=cpu_ns, minor_faults=minor, major_faults=major, resident=resident, processes=len(tree)
    )
    return found, whole


def busiest_pid(root: int) -> int:
    """The living descendant of `root` that has used the most CPU time; `root` itself without any."""
    return max(smaps.descendants(root), key=lambda pid: _cpu_ns(pid) or 0, default=root)


def busiest(root: int) -> str:
    """The executable of that one."""
    return smaps.executable(busiest_pid(root))


def _cpu_ns(pid: int) -> int | None:
    """CPU time of all threads of a process, ended ones too; None where nothing is known of it any more."""
    try:
        # The clock of another process, as clock_getcpuclockid(3) makes it.
        return time.clock_gettime_ns((~pid << 3) | _SCHEDULER_CLOCK)
    except OSError:
        return None


def _stat(pid: int) -> list[str]:
    # A name may hold spaces and parentheses: the fields begin behind the last one.
    return _text(Path(f"/proc/{pid}/stat")).rpartition(")")[2].split()


def _text(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError:
        return ""
