"""Watching a program from outside into a trace, and reading what was seen."""

from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.launch import native_files, spawn
from reap.launch.process import attach
from reap.launch.process.attach import Attached
from reap.launch.records import Launch, Outcome
from reap.recording import record

_PERIOD_US = 1000
"""Between two samples, in CPU time of a thread."""
_WATCHED = ["samples"]


def run(
    launch: Launch, path: Path, *, faults: bool = False, start: Callable[[Launch], Outcome] = spawn.run
) -> Outcome:
    """Runs the program and writes where its time went to `path`. Nothing is loaded into it.

    With `faults` its page faults are looked at, too, which costs a tenth of a microsecond each; they can be
    had from the counted run, whose time nobody looks at. `start` runs it to its end. Throws what that throws.
    """
    _create(path)
    what = [*_WATCHED, "faults"] if faults else _WATCHED
    try:
        return start(replace(launch, options=[*launch.options, *_options(path, what)]))
    finally:
        record.finish(path, names=False)


def running(pid: int, seconds: float, path: Path) -> Attached:
    """Watches a process that runs already for `seconds`, like `run()`. Throws what `attach.watch` throws."""
    _create(path)
    try:
        return attach.watch(pid, seconds, _options(path, ["samples", "faults", "calls"]))
    finally:
        record.finish(path, names=False)


def counted(launch: Launch, path: Path, start: Callable[[Launch], Outcome] = spawn.run) -> Outcome:
    """Runs the program with the recorder in front of its allocator; watches its page faults and system calls.

    It is slower than by itself: what it counts is to be looked at, and not what it took.
    """
    watched = replace(launch, options=[*launch.options, "--watch", "faults,calls"])
    return record.record(watched, path, "triage", force=True, start=start)


def read(path: Path, *, files: list[str], functions: list[str]) -> native.Watched:
    """Reads `path`. `files` are allocators; `functions` the allocator's in other files, as in `Watched`."""
    try:
        return native.Watched(native_name(path), native_files.preload("record").name, files, functions)
    except (OSError, native.BadTraceError) as error:
        raise ReapError(f"what was seen of the program cannot be read: {error}") from error


def _options(path: Path, what: list[str]) -> list[str]:
    return ["--trace", str(path), "--watch", ",".join(what)]


def _create(path: Path) -> None:
    try:
        native.create_trace(
            native_name(path), native.TRIAGE, native.MONOTONIC_NS, native.SAMPLER_PERF, _PERIOD_US
        )
    except OSError as error:
        raise ReapError(
            f"{path} cannot be written: {error.strerror}", "name another folder with -o"
        ) from error
