"""Reasons why a process cannot be watched from outside."""

import errno
import os

from reap import native


def is_denied(outcome: native.AttachOutcome) -> bool:
    """Whether rights are missing."""
    return outcome.errno in (errno.EPERM, errno.EACCES)


def why(outcome: native.AttachOutcome) -> str:
    """Reason why a step of attaching was refused: a clause."""
    number = outcome.errno
    if is_denied(outcome):
        if outcome.failed_step == "process" and os.geteuid() == 0:
            return "it belongs to another user, and root here has no CAP_SYS_PTRACE"
        return _DENIED[outcome.failed_step]
    return {
        "symbols": f"no allocation function was found in {outcome.detail} or its libraries: it is stripped, "
        "or has an allocator that is not known",
        "uprobes": "the kernel has no uprobes (/sys/bus/event_source/devices/uprobe is missing)",
        "bpf": f"the kernel does not take the program of the probes: {os.strerror(number)}",
        "perf": f"the kernel does not set a probe: {os.strerror(number)}",
    }.get(outcome.failed_step, os.strerror(number))


_DENIED = {
    "process": "it belongs to another user, or may not be looked at",
    "perf": "uprobes are for root, or for CAP_PERFMON (perf_event_open was refused)",
    "bpf": "the programs of probes are for root, or for CAP_BPF with CAP_PERFMON (bpf was refused)",
}
"""By step, where rights are missing. A container refuses both calls to root, too, unless it is privileged."""
