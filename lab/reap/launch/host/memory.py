"""How much memory may be taken here without hurting anybody."""

import resource
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")


def available() -> int:
    """Bytes that the kernel could provide now without swapping, within this process's limits."""
    bounds = [_meminfo(Path("/proc/meminfo")), _cgroup(Path("/proc/self/cgroup"), _CGROUPS)]
    address_space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if address_space != resource.RLIM_INFINITY:
        bounds.append(address_space)
    known = [bound for bound in bounds if bound is not None]
    return min(known) if known else 0


def out_of_memory_kills() -> int:
    """How many processes the kernel has killed since it started because memory had run out."""
    for line in _text(Path("/proc/vmstat")).splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0


def kernel_slabs() -> int | None:
    """Bytes that the kernel's own allocator holds and cannot free, of the whole machine."""
    return _meminfo(Path("/proc/meminfo"), "SUnreclaim")


def _meminfo(path: Path, wanted: str = "MemAvailable") -> int | None:
    for line in _text(path).splitlines():
        name, _, value = line.partition(":")
        if name == wanted:
            return int(value.split()[0]) * 1024
    return None


def _cgroup(membership: Path, root: Path) -> int | None:
    """What is left below the limits of our control group and of those that it lies in."""
    left = []
    for line in _text(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, limit, used = root / path.lstrip("/"), "memory.max", "memory.current"
            reclaimable = "inactive_file"
        elif "memory" in controllers.split(","):
            folder = root / "memory" / path.lstrip("/")
            limit, used = "memory.limit_in_bytes", "memory.usage_in_bytes"
            reclaimable = "total_inactive_file"
        else:
            continue
        # A container often sees its own group as the root: what is not there is passed over.
        for each in (folder, *folder.parents):
            most, now = _text(each / limit).strip(), _text(each / used).strip()
            if most.isdigit() and now.isdigit():
                # Files that were read count as used until somebody needs their room.
                held = max(int(now) - _statistic(each / "memory.stat", reclaimable), 0)
                left.append(max(int(most) - held, 0))
            if each == root:
                break
    return min(left, default=None)


def _statistic(path: Path, name: str) -> int:
    for line in _text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


def _text(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""
