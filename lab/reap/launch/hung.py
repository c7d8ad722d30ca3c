"""Search for a preload that makes a program hang, after a run was ended by its time limit."""

import os
import stat
import sys
from collections.abc import Callable, Mapping

from msgspec.structs import replace

from reap.base.errors import ExitCode, ReapError
from reap.launch import spawn
from reap.launch.records import Launch, Outcome

INSTEAD = "use reap record --via uprobe, which loads nothing into it, and report this: it is a fault of reap"
"""What to do where the recorder makes a program hang."""


def bare(launch: Launch) -> Launch:
    """Launch without any preload of reap's, its output discarded; its allocator stays."""
    return replace(launch, preloads=[], probe=False, requests=False, resident=False, capture=True)


def culprits(
    launch: Launch,
    preloads: Mapping[str, Launch],
    start: Callable[[Launch], Outcome] = spawn.run,
) -> list[str]:
    """The preloads under which a program does not end in time, where it does without any; else none.

    `launch` is the program without them, with its time limit, and `preloads` is it with each alone, by name.
    The program runs again, once without and, if several could be the cause, at most once with each. Where
    only all of them together make it hang, all are returned. Throws what `start` throws.
    """
    if start(launch).timed_out:
        return []
    if len(preloads) == 1:
        return list(preloads)
    return [name for name, each in preloads.items() if start(each).timed_out] or list(preloads)


def too_long(
    name: str,
    launch: Launch,
    preloads: Mapping[str, Launch],
    hint: str,
    start: Callable[[Launch], Outcome] = spawn.run,
) -> ReapError:
    """The error of a run of `name` that was ended by its time limit; for the rest see `culprits`.

    `hint` is what to do where the program takes so long by itself.
    """
    found = culprits(launch, preloads, start)
    if not found:
        return ReapError(f"{name} did not end within {launch.timeout:g} s", hint, ExitCode.TIMED_OUT)
    return ReapError(f"{name} {hangs(launch, found)}", INSTEAD, ExitCode.TIMED_OUT)


def hangs(launch: Launch, found: list[str]) -> str:
    """Clause that says that a program hangs by these preloads; its subject is the program."""
    files = " and ".join(f"libreap-{name}.so" for name in found)
    return f"hangs with {files} loaded: it did not end within {launch.timeout:g} s, and does without"


def repeatable(launch: Launch) -> Launch | None:
    """A launch that reads this process's standard input, as one that reads the same again.

    None where that has been read, as of a pipe.
    """
    if launch.stdin or launch.capture:
        return launch
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (AttributeError, OSError, ValueError):
        return None
    return replace(launch, stdin="/dev/stdin") if stat.S_ISREG(mode) or stat.S_ISCHR(mode) else None
