"""Watches where a process's memory goes: a command's, from its begin to its end, or one that runs already."""

import contextlib
import csv
import functools
import os
import shlex
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TextIO

import msgspec

from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.base.files import refuse_link
from reap.base.text import signal_name
from reap.launch import spawn
from reap.launch.process import smaps
from reap.launch.process.records import Moment, Native, Said
from reap.launch.program import Program, require_preloadable
from reap.launch.records import Launch, Outcome
from reap.recording import record
from reap.recording.read import read
from reap.recording.records import Point
from reap.rss import analyse as analysis
from reap.rss import watch
from reap.rss.records import Cgroup, Parts, Residence, Taken
from reap.rss.tree import share, together

_PARTS = Parts.__struct_fields__
HEADINGS = ("seconds", "pid", "resident", *_PARTS, "swap", "huge")
"""The columns of the file of rows; all but the first two in bytes."""

_UNREADABLE = (
    "the mappings of a process of another user may not be read: three kinds of memory are all that is known "
    "of it, and what it shares is counted in each process"
)

_OLD = 10.0
"""Seconds from which on the age of a walk from outside is told."""

Progress = Callable[[Taken], None]
"""Told of every moment as it comes."""


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """Memory of a command's processes, and the command's outcome."""

    processes: list[Residence]
    """The one that had most resident memory first."""
    tree: Residence | None
    """All together, by PSS; None of one that had no two processes at a time."""
    outcome: Outcome


@contextlib.contextmanager
def rows(path: Path, *, force: bool) -> Iterator[TextIO]:
    """The file that every moment is appended to at once, 0600; none stays where nothing came to be seen.

    Throws ReapError if it exists already.
    """
    refuse_link(path)
    try:
        if force and path.is_file():
            path.unlink()  # what is appended to cannot be written beside
        new = not os.path.lexists(path)
        flags = os.O_WRONLY | os.O_CREAT | (os.O_EXCL if new or not force else 0)
        descriptor = os.open(path, flags, 0o600)
        empty = os.write(descriptor, (",".join(HEADINGS) + "\r\n").encode())
    except FileExistsError:
        raise ReapError(f"{path} exists already", "give another name, or --force") from None
    except OSError as error:
        raise ReapError(
            f"{path} could not be written: {error.strerror}", "name a file where you may write"
        ) from error
    file = os.fdopen(descriptor, "w", newline="")
    try:
        yield file
    finally:
        with contextlib.suppress(OSError):  # what could not be written was told
            file.close()
        if new and path.is_file() and path.stat().st_size == empty:
            path.unlink()


def require_process(pid: int, interval: float) -> None:
    """Throws ReapError if it cannot be looked at so often, or at all."""
    watch.require_interval(interval)
    smaps.require_readable(pid)


def process(
    pid: int,
    interval: float,
    seconds: float | None,
    file: TextIO,
    progress: Progress,
    folder: Path | None = None,
) -> Residence:
    """A process that runs already, until it ends, the time is over or Ctrl-C.

    By the kernel's word alone, unless it was started with `watch.asking` and this folder. Throws ReapError
    if it cannot be looked at.
    """
    return _watched(pid, interval, seconds, Log(interval, file, progress), folder, below=False)


def tree(
    pid: int, interval: float, seconds: float | None, file: TextIO, progress: Progress
) -> tuple[list[Residence], Residence | None]:
    """Extends `process()` to its descendants: that process, the others, and all together as in `Observed`."""
    log = Log(interval, file, progress)
    first = _watched(pid, interval, seconds, log, None, below=True)
    others = sorted(
        (log.residence(each) for each in log.moments if each != pid), key=lambda each: -each.largest.resident
    )
    return [first, *others], log.tree(first.command)


def _watched(
    pid: int, interval: float, seconds: float | None, log: "Log", folder: Path | None, *, below: bool
) -> Residence:
    require_process(pid, interval)
    command = smaps.command(pid) or [f"process {pid}"]
    log.commands[pid] = command
    titled = smaps.titled(pid, command)
    try:
        ended = watch.watch(pid, interval, seconds, log.add, folder, below=below)
    except KeyboardInterrupt:
        ended = "you stopped the watching"
    if pid not in log.moments:
        raise ReapError(
            f"process {pid} ended before it could be looked at",
            "name one that runs, or run it: reap rss -- CMD",
            ExitCode.NOT_FOUND,
        )
    return msgspec.structs.replace(log.residence(pid), ended=ended, custom_title=titled)


def command(
    program: Program,
    launch: Launch,
    interval: float,
    file: TextIO,
    *,
    ask: bool,
    recording: Path | None = None,
    force: bool = False,
) -> Observed:
    """A command from its begin to its end; with `ask` by its allocator's word, too. Throws ReapError.

    With `recording` it is recorded in full into that file meanwhile, and live bytes that the allocator does
    not tell are taken from there.

    A program that no preload can enter is looked at by the kernel's word alone, and a note says so.
    """
    watch.require_interval(interval)
    notes = []
    if ask and program.obstacle:
        ask = False
        notes.append(f"{program.obstacle}; what the kernel says is all there is")
    log = Log(interval, file)
    start = spawn.run
    if recording is not None:
        require_preloadable(program)
        start = functools.partial(record.record, path=recording, depth="full", force=force)
    try:
        outcome = watch.run(launch, interval, log.add, ask=ask, start=start)
    except record.LostError as lost:
        outcome, recording = lost.outcome, None
        notes.append(f"{lost.what}; live bytes are the allocator's word alone")
    if not log.moments:
        raise ReapError(
            f"{shlex.join(program.command)} ended ({_how(outcome)}) before it could be looked at once",
            "give it more work, or a shorter --interval; what goes on in the background: --pid",
            ExitCode.TIMED_OUT if outcome.timed_out else outcome.status,  # as promised: the program's own
        )
    if len(log.moments) == 1:  # it may have ended before its command could be read
        log.commands.setdefault(next(iter(log.moments)), program.command)
    found = sorted((log.residence(pid) for pid in log.moments), key=lambda each: -each.largest.resident)
    first = msgspec.structs.replace(found[0], peak=outcome.peak_resident, notes=[*notes, *found[0].notes])
    whole = log.tree(program.command)
    if recording is not None:
        first = _with_recording(first, recording)
        whole = _with_recording(whole, recording) if whole is not None else None
    return Observed(processes=[first, *found[1:]], tree=whole, outcome=outcome)


def _with_recording(first: Residence, file: Path) -> Residence:
    recorded = read(file)
    live = [Point(seconds=at, bytes=level) for at, level in recorded.levels()]
    together = "live bytes by the recording are those of all processes together"
    return msgspec.structs.replace(
        first,
        moments=analysis.with_recorded(first.moments, live),
        recorded=live[-1].bytes if live else 0.0,
        notes=[*first.notes, *([together] if len(recorded.images()) > 1 else [])],
    )


def _how(outcome: Outcome) -> str:
    if outcome.timed_out:
        return "by --timeout"
    return signal_name(outcome.signal) if outcome.signal else f"exit status {outcome.exit_code}"


class Log:
    """Takes moments apart and writes them down as they come."""

    def __init__(self, interval: float, file: TextIO | None = None, progress: Progress | None = None) -> None:
        self.commands: dict[int, list[str]] = {}
        self.moments: dict[int, list[Taken]] = {}
        self._counts: dict[int, int] = {}
        self._said: dict[int, Said] = {}
        self._native: dict[int, list[Native]] = {}
        self._trouble: list[str] = []
        self._together: list[Taken] = []
        self._shares: dict[int, Taken] = {}
        self._most = 0
        self._cgroup: Cgroup | None = None
        self._coarse: set[int] = set()
        self._unwalked: dict[int, str] = {}
        self._interval, self._file, self._progress = interval, file, progress

    def add(self, moment: Moment) -> None:
        """The next moment of some process."""
        pid, origin = moment.pid, self.moments.get(moment.forked_from)
        taken = analysis.take_apart(moment, origin[-1] if origin else None)
        if command := smaps.command(pid):  # it may have become another program
            self.commands[pid] = command
        kept = self.moments.setdefault(pid, [])
        kept.append(taken)
        self._counts[pid] = self._counts.get(pid, 0) + 1
        if len(kept) > 2 * analysis.MOST:  # the file has them all
            kept[:] = analysis.thinned(kept)
        self._add_share(pid, share(moment, taken))
        if moment.cgroup is not None:
            self._cgroup = Cgroup(current=moment.cgroup.current, limit=moment.cgroup.limit)
        self._coarse |= {pid} if moment.coarse else set()
        self._unwalked[pid] = moment.unwalked
        if moment.said is not None and (moment.said.values or pid not in self._said):
            self._said[pid] = moment.said
        if moment.native:
            self._native[pid] = moment.native
        if self._file is not None:
            values = [getattr(taken.parts, name) for name in _PARTS]
            self._write([f"{taken.seconds:.3f}", pid, taken.resident, *values, taken.swap, taken.huge])
        if self._progress is not None:
            self._progress(taken)

    def _add_share(self, pid: int, share: Taken) -> None:
        """Processes are looked at in turn: those of one moment have the same time."""
        if self._shares and next(iter(self._shares.values())).seconds != share.seconds:
            self._close_moment()
        self._shares[pid] = share

    def _close_moment(self) -> None:
        self._together.append(together(list(self._shares.values())))
        self._most = max(self._most, len(self._shares))
        self._shares = {}
        if len(self._together) > 2 * analysis.MOST:
            self._together = analysis.thinned(self._together)

    def tree(self, command: list[str]) -> Residence | None:
        """All processes together; None where there were never two. To be called when all was seen."""
        shares = self._shares
        largest = max(shares, key=lambda pid: shares[pid].resident, default=0)
        if shares:
            self._close_moment()
        if self._most < 2:
            return None
        asked = [self._said[pid] for pid in (largest, *shares) if pid in self._said]
        said = next((each for each in asked if each.kind), None)
        return Residence(
            command=command,
            pid=largest,
            moments=analysis.thinned(self._together),
            taken=len(self._together),
            interval=self._interval,
            allocator=said.kind if said and self._together[-1].said else "",
            processes=self._most,
            native=self._native.get(largest, []),
            cgroup=self._cgroup,
            unwalked=self._unwalked[largest],
            notes=[*self._trouble, *([_UNREADABLE] if self._coarse else [])],
        )

    def _write(self, row: list[object]) -> None:
        assert self._file is not None  # noqa: S101 - the caller looked
        try:
            csv.writer(self._file).writerow(row)
            self._file.flush()
        except OSError as error:  # what comes is still seen, and told
            self._trouble = [f"the file of all snapshots ends early: {error.strerror}"]
            self._file = None

    def residence(self, pid: int) -> Residence:
        """All that was seen of a process."""
        moments, said = self.moments[pid], self._said.get(pid)
        background = said.values.get("background_thread") if said else None
        return Residence(
            command=self.commands.get(pid) or [f"process {pid}"],
            pid=pid,
            moments=analysis.thinned(moments),
            taken=self._counts[pid],
            interval=self._interval,
            allocator=said.kind if said and moments[-1].said else "",
            provider=said.provider if said else "",
            background=None if background is None else background == 1,
            native=self._native.get(pid, []),
            cgroup=self._cgroup,
            unwalked=self._unwalked[pid],
            notes=[*self._trouble, *([_UNREADABLE] if pid in self._coarse else []), *_notes(moments, said)],
        )


def _notes(moments: list[Taken], said: Said | None) -> list[str]:
    notes = []
    if said is not None and not said.kind and not moments[-1].said:
        notes.append(f"{said.provider or 'the allocator'} has no statistics that reap knows how to ask for")
    elif said is not None and said.stopped:
        notes.append(
            "the allocator was not asked any more from some moment on: main ended before its threads"
        )
    elif said is not None and said.kind == "glibc" and said.walk is None and said.stamp:
        notes.append(
            "the heap could not be walked: free pages cannot be told from free bytes between live ones"
        )
    if said is not None and said.outside and (age := time.monotonic() - said.stamp / 1e9) > _OLD:
        notes.append(f"its heaps were last walked {units.duration(age)} before the end")
    if moments[-1].swap:
        notes.append("some of it is swapped out, and is no part of resident memory")
    return notes
