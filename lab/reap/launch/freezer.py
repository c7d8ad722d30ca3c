"""Stops and continues groups of processes by the kernel's cgroup freezer, where a cgroup can be made.

The freezer stops all processes of a group, and those that they are just forking. No signal is sent, and no
parent sees its child stop. Version 2 of cgroups has it in every group, version 1 in a hierarchy of its own.
"""

import contextlib
import functools
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from reap.base.records import Record

_PATIENCE = 0.05
"""Seconds within which a group freezes; one that waits for a disk may take longer, and is not waited for."""
_PASSES = 50
"""In which all processes of a tree must be found; each finds those that were forked during the one before."""

_KEEPER = """
read -r gone
for group; do echo "$THAWED" >"$group/$SWITCH"; done
for try in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30; do
    left=
    for group; do
        test -d "$group" || continue
        while read -r each; do echo "$each" >"${group%/*}/cgroup.procs"; done <"$group/cgroup.procs"
        rmdir "$group" || left=1
    done
    test "$left" || exit 0
    sleep 0.05
done
"""
"""A shell that waits until we close its input, or are killed: nothing stays frozen, and no group stays."""


class Hierarchy(Record):
    """Folder in which groups can be made, and the way to freeze them."""

    version: int
    """Of cgroups."""
    folder: str
    """Of the group that we are in."""
    switch: str
    frozen: str
    thawed: str
    state: str
    """The file that says whether a group is frozen."""
    is_frozen: str
    """A line of it."""


class Group:
    """Processes that are stopped and continued together."""

    def __init__(self, hierarchy: Hierarchy, folder: Path) -> None:
        self._hierarchy = hierarchy
        self._folder = folder

    def take(self, find: Callable[[], Sequence[int]]) -> None:
        """Moves all processes that `find` finds into it. Throws OSError where one may not be moved."""
        inside: set[int] = set()
        for _ in range(_PASSES):
            new = [each for each in find() if each not in inside]
            if not new:
                return
            for each in new:
                with contextlib.suppress(ProcessLookupError):
                    (self._folder / "cgroup.procs").write_text(str(each))
            inside.update(new)

    def stop(self) -> None:
        """Freezes it; when this returns nothing in it runs."""
        self._switch(self._hierarchy.frozen)
        until = time.monotonic() + _PATIENCE
        state = self._folder / self._hierarchy.state
        while self._hierarchy.is_frozen not in state.read_text().splitlines():
            if time.monotonic() > until:
                return

    def go_on(self) -> None:
        """Lets it run."""
        self._switch(self._hierarchy.thawed)

    def _switch(self, word: str) -> None:
        (self._folder / self._hierarchy.switch).write_text(word)


@contextlib.contextmanager
def groups(hierarchy: Hierarchy, count: int) -> Iterator[list[Group]]:
    """So many groups, empty at first. At the end, or if we are killed, all in them run on outside of them.

    Throws OSError where they cannot be made.
    """
    name = f"reap-{secrets.token_hex(8)}"
    folders = [Path(hierarchy.folder) / f"{name}-{number}" for number in range(count)]
    words = {"SWITCH": hierarchy.switch, "THAWED": hierarchy.thawed, "PATH": os.defpath}
    with subprocess.Popen(
        ["/bin/sh", "-c", _KEEPER, "sh", *map(str, folders)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=words,
        start_new_session=True,
    ):  # whose end closes its input and waits for it
        for each in folders:
            each.mkdir()
        yield [Group(hierarchy, each) for each in folders]


def here() -> Hierarchy | None:
    """Hierarchy of this machine; None where we may make no group that can be frozen."""
    found = search()
    return found if isinstance(found, Hierarchy) else None


@functools.cache
def search() -> Hierarchy | str:
    """Hierarchy of this machine, or the reason why there is none: tried, not guessed."""
    try:
        mounted = _lines("mountinfo")
        groups_of_ours = dict(line.split(":", 2)[1:] for line in _lines("cgroup"))
    except OSError as error:
        return f"{error.filename}: {error.strerror}"
    kinds = [("cgroup2", "", _version_2), ("cgroup", "freezer", _version_1)]
    reasons = []
    for kind, controller, made in kinds:
        own = next((path for names, path in groups_of_ours.items() if controller in names.split(",")), None)
        folder = _folder(mounted, kind, controller, own) if own else ""
        if not folder:
            continue
        reason = _refused(made(folder))
        if not reason:
            return made(folder)
        reasons.append(reason)
    return "; ".join(reasons) or "our cgroup is not mounted here"


def _lines(name: str) -> list[str]:
    return Path(f"/proc/self/{name}").read_text(errors="surrogateescape").splitlines()


def _version_2(folder: str) -> Hierarchy:
    return Hierarchy(
        version=2,
        folder=folder,
        switch="cgroup.freeze",
        frozen="1",
        thawed="0",
        state="cgroup.events",
        is_frozen="frozen 1",
    )


def _version_1(folder: str) -> Hierarchy:
    return Hierarchy(
        version=1,
        folder=folder,
        switch="freezer.state",
        frozen="FROZEN",
        thawed="THAWED",
        state="freezer.state",
        is_frozen="FROZEN",
    )


def _folder(mounted: Sequence[str], kind: str, controller: str, path: str) -> str:
    """Of the group of that path in a hierarchy; empty where that is not mounted, or the group not in view."""
    for line in mounted:
        words, _, more = line.partition(" - ")
        found, _, options = more.split(" ", 2)
        if found == kind and (not controller or controller in options.split(",")):
            root, at = words.split()[3:5]
            within = os.path.relpath(path, root)
            return "" if within.startswith("..") else os.path.normpath(os.path.join(at, within))  # noqa: PTH118 - text
    return ""


def _refused(hierarchy: Hierarchy) -> str:
    """Reason why no process can be moved into a group and out, or none be frozen; empty if all works."""
    if not os.access(Path(hierarchy.folder) / "cgroup.procs", os.W_OK):
        return f"{hierarchy.folder} may not be written"
    try:
        with (
            groups(hierarchy, 1) as (group,),
            subprocess.Popen(["/bin/sh", "-c", "read -r x"], stdin=subprocess.PIPE) as one,
        ):
            group.take(lambda: [one.pid])
            group.stop()
            group.go_on()
    except OSError as error:
        return f"no group can be used in {hierarchy.folder}: {error.strerror}"
    return ""
