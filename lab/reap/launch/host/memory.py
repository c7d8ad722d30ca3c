"""Memory that may be taken here without hurting anybody."""

import resource
from pathlib import Path

from reap.launch.host import cgroups

_sharers = 1


def share(processes: int) -> None:
    """From now on so many processes, this one among them, have as much each of what is `available`."""
    global _sharers  # noqa: PLW0603 - of a process, as its memory is
    _sharers = processes


def available() -> int:
    """Bytes that the kernel could provide now without swapping, within this process's limits and share."""
    bounds = [_meminfo(Path("/proc/meminfo")), _cgroup(cgroups.MEMBERSHIP, cgroups.ROOT)]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        bounds.append(address_space)
    known = [bound for bound in bounds if bound is not None]
    return min(known) // _sharers if known else 0


def out_of_memory_kills() -> int:
    """Number of processes that the kernel has killed since it started because memory had run out."""
    for line in cgroups.text(Path("/proc/vmstat")).splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def kernel_slabs() -> int | None:
    """Bytes that the kernel's own allocator holds and cannot free, of the whole machine."""
    return _meminfo(Path("/proc/meminfo"), "SUnreclaim")


def _meminfo(path: Path, wanted: str = "MemAvailable") -> int | None:
    for line in cgroups.text(path).splitlines():
        name, _, value = line.partition(":")
        if name == wanted:
            return int(value.split()[0]) * 1024
    return None


def _cgroup(membership: Path, root: Path) -> int | None:
    """Bytes left below the limits of our control group and of those that it lies in."""
    left = []
    for each, version in cgroups.folders("memory", membership, root):
        if version == 2:
            limit, used, reclaimable = "memory.max", "memory.current", "inactive_file"
        else:
            limit, used, reclaimable = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
        most, now = cgroups.text(each / limit).strip(), cgroups.text(each / used).strip()
        if most.isdigit() and now.isdigit():
            # Files that were read count as used until somebody needs their room.
            held = max(int(now) - cgroups.statistic(each / "memory.stat", reclaimable), 0)
            left.append(max(int(most) - held, 0))
    return min(left, default=None)
