"""Privileges: those that a program gets from its file, for which the loader ignores preloads, and our own."""

import os
import stat
from pathlib import Path


def changes_identity(status: os.stat_result) -> bool:
    """Whether a file of this status is set-user-ID or set-group-ID to somebody else than we are."""
    user = bool(status.st_mode & stat.S_ISUID) and status.st_uid != os.getuid()
    group = bool(status.st_mode & stat.S_ISGID) and status.st_gid != os.getgid()
    return user or group


def has_capabilities(image: Path) -> bool:
    """Whether the file has capabilities; False where its attributes cannot be read."""
    try:
        return bool(os.getxattr(image, "security.capability"))
    except OSError:
        return False


_SYS_ADMIN, _PERFMON, _BPF = 21, 38, 39
"""Capabilities by their bits, in linux/capability.h."""


def may_probe() -> bool:
    """Whether this process has the capabilities to set uprobes; a container may refuse them all the same."""
    try:
        status = Path("/proc/self/status").read_text()
    except OSError:
        return False
    mask = int(next((line[7:] for line in status.splitlines() if line.startswith("CapEff:")), "0"), 16)
    return bool(mask >> _SYS_ADMIN & 1) or (bool(mask >> _PERFMON & 1) and bool(mask >> _BPF & 1))
