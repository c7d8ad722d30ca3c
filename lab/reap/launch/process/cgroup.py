"""Reads the limit of memory that a process's control group has, of either version."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from reap.launch.process.records import Cgroup

_ROOT = Path("/sys/fs/cgroup")
_FILES = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_UNLIMITED = 1 << 60
"""Version 1 says so by a number near 2**63."""


def read(pid: int) -> Cgroup | None:
    """The narrowest limit of the group and those above it; None where there is none, or it is not shown.

    In a container the group may not be shown under its name; there the root is its own.
    """
    found = [group for folder in _folders(pid) if (group := _group(folder)) is not None]
    return min(found, key=lambda group: group.limit - group.current, default=None)


def _folders(pid: int) -> Iterator[Path]:
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            if controllers not in {"", "memory"}:
                continue
            parts = [part for part in name.split("/") if part]
            for root in (_ROOT / "memory",) if controllers else (_ROOT, _ROOT / "unified"):
                for depth in range(len(parts) + 1) if ".." not in parts else (0,):
                    yield root.joinpath(*parts[:depth])


def _group(folder: Path) -> Cgroup | None:
    for limit, current in _FILES:
        with contextlib.suppress(OSError, ValueError):  # "max" is no number
            most = int((folder / limit).read_text())
            if most < _UNLIMITED:
                return Cgroup(current=int((folder / current).read_text()), limit=most)
    return None
