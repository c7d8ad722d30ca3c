"""The control groups that this process is in."""

from collections.abc import Iterator
from pathlib import Path

MEMBERSHIP = Path("/proc/self/cgroup")
ROOT = Path("/sys/fs/cgroup")


def folders(controller: str, membership: Path = MEMBERSHIP, root: Path = ROOT) -> Iterator[tuple[Path, int]]:
    """Folders that may have files of a controller: our group's and those around it, the innermost first.

    Each with the version of cgroups. A container often sees its own group as the root, so what is not there
    is to be passed over.
    """
    for line in text(membership).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            folder, version = root / path.lstrip("/"), 2
        elif controller in controllers.split(","):
            folder, version = root / controller / path.lstrip("/"), 1
        else:
            continue
        for each in (folder, *folder.parents):
            yield each, version
            if each == root:
                break


def statistic(path: Path, name: str) -> int:
    """A value of a file with a name and a value in each line; 0 without it."""
    for line in text(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


def text(path: Path) -> str:
    """Text of the file; empty where it cannot be read."""
    try:
        return path.read_text()
    except OSError:
        return ""
