"""Folders of a command that get a private copy-on-write view, so that copies of it do not meet there.

The view is an overlay on a tmpfs (`lab/spawn/program/private_view.cpp`). The kernel has it for folders of
ordinary local file systems; whatever else a command shares with its copies stays shared.
"""

import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.base.errors import ReapError
from reap.experiment import naming
from reap.experiment.footprint import Footprint
from reap.launch import spawn
from reap.launch.records import Launch, Outcome, Private

_LOCAL = {"ext2", "ext3", "ext4", "xfs", "btrfs", "f2fs", "zfs", "bcachefs", "tmpfs", "overlay"}
_MOST_FOLDERS, _MOST_FILES = 16, 256
"""As many as the launcher takes."""
_ESCAPED = re.compile(r"\\([0-7]{3})")


class Mount(msgspec.Struct):
    """A line of /proc/self/mountinfo."""

    path: str
    kind: str


def plan(seen: Sequence[Footprint]) -> Private | str:
    """The view in which copies of these commands do not meet by files; or why there is none, as a clause."""
    changes = [paths for each in seen for groups in each.changed.values() for paths in groups]
    changes += [[os.path.realpath(path)] for paths in changes for path in paths if Path(path).is_symlink()]
    try:
        if os.geteuid() != 0 and (one := next(filter(_set_id, (p for e in seen for p in e.executed)), "")):
            return f"it executes {one}, which is set-user-ID"
        for path in (path for paths in changes for path in paths):
            if Path(path).exists() and not (Path(path).is_file() or Path(path).is_dir()):
                return f"{path} is no regular file"
        folders = _outermost([_folder(paths) for paths in changes])
        problem = next(filter(None, map(_problem, folders)), "")
        kept = {path for each in seen for path in each.kept if Path(path).is_file()}
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    if problem or len(folders) > _MOST_FOLDERS:
        return problem or f"it writes in {len(folders)} folders"
    files = sorted(path for path in kept if any(_within(path, folder) for folder in folders))
    return Private(folders=folders, files=files[:_MOST_FILES])


def holds(folders: Sequence[str], paths: Sequence[str]) -> bool:
    """Whether all of these are within folders of a view; what is no path is not."""
    return all(
        path.startswith("/") and any(_within(os.path.realpath(path), each) for each in folders)
        for path in paths
    )


def tried(launch: Launch, private: Private, seen: Footprint, outputs: set[str]) -> Outcome | str:
    """A run within the view: what came of it; or in what it differs from the runs without, as a clause.

    `outputs` are the digests of what the command printed before. Output is compared where they agree.
    """
    own = naming.filled(msgspec.structs.replace(launch, private=private), naming.ALONE)
    try:
        outcome = spawn.run(own)
    except ReapError as error:
        return error.what
    if outcome.status != seen.outcome.status or outcome.timed_out:
        said = outcome.stderr_tail.strip().rpartition("\n")[2][-200:]
        return f"the program ends with {outcome.status} there" + (f" ({said})" if said else "")
    if seen.outcome.stdout_digest in outputs and outcome.stdout_digest not in outputs:
        return "the program prints something else there"
    return outcome


def _set_id(path: str) -> bool:
    return bool(Path(path).stat().st_mode & (stat.S_ISUID | stat.S_ISGID)) if Path(path).is_file() else False


def _folder(paths: Sequence[str]) -> str:
    """The nearest folder that is still there and holds all of these."""
    found = Path(os.path.commonpath([os.path.dirname(path) for path in paths]))  # noqa: PTH120 - text
    while not found.is_dir():
        found = found.parent
    return os.path.realpath(found)


def _outermost(folders: Sequence[str]) -> list[str]:
    every = sorted(set(folders))
    return [each for each in every if not any(_within(each, other) for other in every if other != each)]


def _within(path: str, folder: str) -> bool:
    return path.startswith(f"{folder.rstrip('/')}/")


def _problem(folder: str) -> str:
    """Reason why the folder can have no view of its own, as a clause; empty if it can."""
    if folder == "/" or any(folder == each or _within(folder, each) for each in ("/proc", "/sys")):
        return f"{folder} cannot be private"
    mounts = _mounts()
    inner = next((each.path for each in mounts if _within(each.path, folder)), "")
    if inner:
        return f"{inner} is mounted within {folder}"
    own = max(
        (each for each in mounts if folder == each.path or _within(folder, each.path)),
        key=lambda each: len(each.path),
    )
    return "" if own.kind in _LOCAL else f"{folder} is on {own.kind}"


def _mounts() -> list[Mount]:
    """The later of two at one path is the one that is seen."""
    found = {}
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        words, _, more = line.partition(" - ")
        path = _ESCAPED.sub(lambda each: chr(int(each[1], 8)), words.split()[4])
        found[path] = Mount(path=path, kind=more.split()[0])
    return list(found.values())
