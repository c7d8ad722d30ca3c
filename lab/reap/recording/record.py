"""Recording a program into a trace."""

import contextlib
import os
import shlex
import stat
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from msgspec.structs import replace

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.base.records import Record
from reap.launch import native_files, spawn
from reap.launch.host import sampling
from reap.launch.records import Launch, Outcome
from reap.recording import beside, mapped
from reap.recording.part import Limits, unreached_at

Depth = Literal["triage", "full"]
DEPTHS: tuple[Depth, ...] = ("triage", "full")

_FEWEST_BLOCKS = 16
"""Of a recording of which the newest part is kept."""


class LostError(ReapError):
    """The program ran, and its recording is gone or was written over: by the program itself, perhaps."""

    def __init__(self, cause: ReapError, outcome: Outcome) -> None:
        super().__init__(cause.what, cause.hint, cause.code)
        self.outcome = outcome


def record(
    launch: Launch,
    path: Path,
    depth: Depth,
    *,
    force: bool = False,
    python: bool = True,
    exactly: bool = True,
    max_bytes: int = 0,
    compress: bool = False,
    labels: Sequence[tuple[str, str]] = (),
    limits: Limits | None = None,
    names: bool = True,
    start: Callable[[Launch], Outcome] = spawn.run,
) -> Outcome:
    """Runs the program with the recorder in front of its allocator, and writes what it did to `path`.

    The file is private to the user, holds the whole process tree, and is readable at any moment, even if the
    program or this process is killed. `depth` triage counts everything and samples stacks, latencies and live
    bytes; full writes every event with its stack. `exactly` has triage write them, too, as long as that takes
    little time: of a program with few events every figure is then exact. `python` has stacks show Python
    functions in place of the interpreter's calls. From `max_bytes` on no events are written, and counters go
    on. `compress` compresses the file when nothing more can come. `labels` are kept in it. `limits` say which
    part of the run is recorded. `names` is as in `finish`: a recording that is read at once, and for its
    numbers alone, needs none; with them, calls of an allocator that is linked into the program are watched
    beside, where `beside` can. `start` runs the program to its end. Throws ReapError if the file exists
    (without `force`) or cannot be made, LostError if it cannot be completed, and what `start` throws.
    """
    trace = native_name(path.absolute())
    make_room(path, force=force)
    if mapped.must_be_copied(path):
        with mapped.copied_to(path) as written:
            return record(
                launch,
                written,
                depth,
                python=python,
                exactly=exactly,
                max_bytes=max_bytes,
                compress=compress,
                labels=labels,
                limits=limits,
                names=names,
                start=start,
            )
    bounded = max_bytes > 0 or (limits is not None and limits.is_ring)
    exactly = exactly and depth == "triage" and not bounded
    who, period = sampler(by_timer=sampling.check().samples == 0)
    try:
        native.create_trace(
            trace,
            native.FULL if depth == "full" else native.TRIAGE,
            native.choose_clock(),
            who,
            period,
            native_only=not python,
            max_blocks=blocks(max_bytes),
            exact_events=native.EXACT_EVENTS if exactly else 0,
            labels=list(labels),
        )
    except OSError as error:
        raise ReapError(
            f"the recording {path} cannot be written: {error.strerror}", "name another file with -o"
        ) from error
    if limits:
        _limit(path, limits)
    # Its first half is a name that anybody may learn, its second a word for the program's processes alone.
    socket = os.urandom(native.SOCKET_NAME).hex()
    with tempfile.TemporaryDirectory(prefix="reap-modules-") as folder:
        recorded = replace(
            launch,
            preloads=[str(native_files.preload("record")), *launch.preloads],
            environment={**launch.environment, native.TRACE_ENV: trace, native.SOCKET_ENV: socket},
            options=[
                *launch.options,
                *("--trace", trace, "--trace-socket", socket),
                *(("--held-files", folder) if names else ()),
            ],
        )
        whole = names and not limits
        watching = beside.watching(recorded, path, python=python)
        try:
            with watching if whole else contextlib.nullcontext(beside.Watched(recorded)) as watched:
                outcome = start(watched.launch)
        except BaseException:
            with contextlib.suppress(ReapError):
                finish(path, names=names, folder=folder)
            raise
        # One that is captured leaves none: the launcher ends them.
        running = [] if launch.capture else native.started_with(f"{native.SOCKET_ENV}={socket}")
        outcome = replace(outcome, still_running=running, linked=watched.note())
        try:
            ended = finish(path, running=bool(running), names=names, held=watched.held, folder=folder)
            outcome = replace(outcome, nameless=ended.nameless, refused=ended.refused)
        except ReapError as error:
            raise LostError(error, outcome) from error
    try:
        if ended.left == 0 and compress:
            native.compress_file(trace)
    except OSError as error:
        cause = ReapError(
            f"the recording {path} is whole, but could not be compressed: {error.strerror}",
            "free space in its folder",
        )
        raise LostError(cause, outcome) from error
    return outcome


def told(outcome: Outcome, path: Path | None = None) -> list[str]:
    """Notes on a recording that was just made, a clause each, the same for every verb.

    `path` is its file where the user keeps it.
    """
    said = [outcome.linked] if outcome.linked else []
    if outcome.nameless:
        nameless = f"the recording has no names of functions ({outcome.nameless})"
        later = f"reap show --resolve {shlex.quote(str(path))}"
        keep = f": keep the program's files as they are until {later} has kept them" if path else ""
        said.append(nameless + keep)
    said += [other_build(file) for file in outcome.refused]
    if path and mapped.must_be_copied(path):
        said.append("the recording was made in another folder and copied: files in its own cannot be mapped")
    return said


def other_build(file: str) -> str:
    """Clause on a file that names no functions of a recording."""
    return f"{file} is not used: it is another build than the one that was recorded"


def _limit(path: Path, limits: Limits) -> None:
    """Has an empty recording take a part of the run; removes it where it cannot."""
    try:
        native.set_part(
            native_name(path.absolute()),
            (limits.start.phase, limits.start.signal),
            (limits.stop.phase, limits.stop.signal),
            ring_seconds=limits.last_seconds,
            ring_blocks=max(_FEWEST_BLOCKS, limits.last_bytes // native.BLOCK_BYTES)
            if limits.last_bytes
            else 0,
        )
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ReapError(
            f"--last is not possible for {path}: its file system gives no space back ({error.strerror})",
            "write it elsewhere with -o, or use --max-size",
        ) from error


def unreached(path: Path, limits: Limits) -> str:
    """Event that the limits of a recording waited for in vain, as a clause; empty where that came."""
    return unreached_at(native.gate_of(native_name(path)), limits) if limits else ""


def blocks(max_bytes: int) -> int:
    """The blocks of a file of at most this size; 0: no limit."""
    return max(2, max_bytes // native.BLOCK_BYTES) if max_bytes else 0


def sampler(*, by_timer: bool) -> tuple[int, int]:
    """Sampler of instruction pointers, as a trace's header calls it, and its period in microseconds."""
    return (
        (native.SAMPLER_TIMER, native.TIMER_PERIOD_US)
        if by_timer
        else (native.SAMPLER_PERF, native.PERF_PERIOD_US)
    )


class Finished(Record):
    """Outcome of sealing a recording."""

    left: int
    """Blocks that belong to processes that still run."""
    nameless: str = ""
    """Why names could not be kept; empty where they were, or were not asked for."""
    refused: list[str] = []
    """Debug files of another build, which were found under the names that programs give."""


def finish(
    path: Path,
    *,
    running: bool = False,
    names: bool = True,
    held: Sequence[tuple[str, str]] = (),
    folder: str = "",
) -> Finished:
    """Seals what the ended processes left.

    Where no process still runs, nothing more can come. Then the names of what its stacks have are kept with
    it, so that it needs no other file to be read: of code that was compiled at run time, and with `names` of
    functions and lines. `held` are files of modules that may be gone, as (path of the module, where it can
    be opened); the launcher put more of them into `folder`. Where names cannot be kept, they are looked up
    when the recording is read. With `running` some process is known to run that may not have begun to record.
    """
    try:
        left = native.finish_trace(native_name(path), running)
        native.keep_perf_maps(native_name(path))
        return _keep_names(path, Finished(left=left), held, folder) if names else Finished(left=left)
    except OSError as error:
        raise ReapError(f"the recording {path} cannot be completed: {error.strerror}") from error
    except native.BadTraceError as error:
        raise ReapError(
            f"the recording {path} was truncated or overwritten while it was made: {error}"
        ) from error


def _keep_names(path: Path, ended: Finished, held: Sequence[tuple[str, str]], folder: str) -> Finished:
    recorder = native_files.preload("record").name
    try:
        kept = native.keep_names(native_name(path), recorder, held=list(held), held_folder=folder)
    except OSError as error:
        return replace(ended, nameless=error.strerror or str(error))
    return replace(ended, refused=kept.refused)


def make_room(path: Path, *, force: bool) -> None:
    """Removes what is at `path` with `force`. Throws ReapError where something is that may not be removed."""
    if not os.path.lexists(path):
        return
    if not force:
        raise ReapError(f"{path} exists already", "give another name with -o, or --force to replace it")
    if path.is_dir():
        raise ReapError(f"{path} is a folder", "give the name of a file with -o")
    # Never a device, a pipe, a socket or a link: as root, -o /dev/null would remove the device.
    if not stat.S_ISREG(path.lstat().st_mode):
        raise ReapError(
            f"{path} is no regular file, so --force does not replace it", "give the name of a file with -o"
        )
    path.unlink()
