"""Allocators that were built here: `NAME/VERSION/` in one private folder of the user's."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from reap.allocators.recipe import Recipe
from reap.base.records import Record, decode

_STAMP = "stamp.json"
_WORK = ".work-"


class Stamp(Record):
    """Inputs of an installed allocator. It is written last: a folder that has one is whole."""

    fingerprint: str
    """Of the recipe."""
    compiler: str
    crate: str
    """Name and version."""


def root() -> Path:
    """The folder of all of them, as the XDG base directory specification has it. It need not exist."""
    data = os.environ.get("XDG_DATA_HOME", "")
    # The specification says that relative ones are to be ignored.
    base = Path(data) if data.startswith("/") else Path(os.environ.get("HOME") or "/") / ".local/share"
    return base / "reap/allocators"


def folder(recipe: Recipe) -> Path:
    """Folder of one, installed or not."""
    return root() / recipe.name / recipe.version


def library(recipe: Recipe) -> Path:
    """Its file to preload."""
    return folder(recipe) / library_name(recipe)


def library_name(recipe: Recipe) -> str:
    """Name of its file to preload."""
    return f"lib{recipe.name}.so"


def installed(recipe: Recipe) -> Stamp | None:
    """Stamp of the installed one; None where there is none."""
    try:
        stamp = decode((folder(recipe) / _STAMP).read_bytes(), Stamp)
    except (OSError, msgspec.DecodeError):
        return None
    return stamp if library(recipe).exists() else None


@contextmanager
def workshop(tell: Callable[[str], None]) -> Iterator[tuple[Path, int]]:
    """An empty folder to build in, beside its destination, and the lock that keeps others out.

    Waits for whoever builds already, and removes what one that was killed has left. Programs that are started
    must inherit the lock's descriptor: it holds for as long as any of them lives. Throws OSError.
    """
    root().mkdir(parents=True, exist_ok=True)
    root().chmod(0o700)
    with (root() / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            tell("waiting for another install to end")
            fcntl.flock(lock, fcntl.LOCK_EX)
        for left in root().glob(f"{_WORK}*"):
            shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=_WORK, dir=root()))
        try:
            yield work, lock.fileno()
        finally:
            shutil.rmtree(work, ignore_errors=True)


def publish(recipe: Recipe, made: Path, stamp: Stamp, work: Path) -> None:
    """Puts what was made where `library` finds it, in one step. Throws OSError."""
    (made / _STAMP).write_bytes(msgspec.json.encode(stamp))
    target = folder(recipe)
    target.parent.mkdir(exist_ok=True)
    if target.exists():
        target.rename(work / "replaced")
    made.rename(target)
