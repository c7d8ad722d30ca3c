"""Watching calls of allocators that are linked into files of a program, by uprobes, beside the recorder."""

import contextlib
import os
import select
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from reap import native
from reap.base import units
from reap.base.files import native_name
from reap.launch import native_files, privileges
from reap.launch.process import smaps
from reap.launch.records import Launch
from reap.recording import refusal

MOST_OVERHEAD = 0.02
"""Of the CPU time of each process, in addition to the recorder's few percent."""
_WHOLE = 0.995
"""Share of the time from which on all of it was watched."""
_FOREVER = 1e9
_ASK = 0.05
"""Seconds between two questions whether the program is ready."""
_CREDENTIALS = struct.Struct("3i")


class Watched:
    """A program that is run with the recorder, and what was watched beside that."""

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        """What to run."""
        self.outcome: native.AttachOutcome | None = None

    @property
    def held(self) -> list[tuple[str, str]]:
        """Files of modules, also of those that are gone, as `record.finish` takes them."""
        return list(self.outcome.held) if self.outcome else []

    def note(self) -> str:
        """Cost of watching, or reason why it was refused: a clause; empty where nothing was to be watched."""
        seen = self.outcome
        if seen is None or not seen.linked:
            return ""
        whose = f"calls of {_listed(seen.linked)}"
        if seen.failed_step:
            return f"{whose} are not recorded: {refusal.why(seen)}"
        if not seen.processes:
            return f"{whose} are not recorded: the processes ended before they were watched"
        overhead = units.percent(seen.overhead)
        cost = f"none met a probe; the probes cost {overhead} of its CPU time"
        if seen.call_ns > 0:
            each = units.duration(seen.call_ns * 1e-9)
            cost = f"each that met a probe cost {each}, all together {overhead} of its CPU time"
        part = "" if seen.share > _WHOLE else f", of {units.percent(seen.share)} of the time"
        return f"{whose} are estimated by uprobes{part}: {cost}"


_MOST_NAMES = 3


def _listed(found: list[tuple[str, str]]) -> str:
    """The allocators with their files, at most three of these."""
    names = sorted({f"{allocator or 'its own malloc'} in {Path(path).name}" for path, allocator in found})
    more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
    *first, last = [*names[:_MOST_NAMES], *more]
    return f"{', '.join(first)} and {last}" if first else last


@contextlib.contextmanager
def watching(launch: Launch, path: Path, *, python: bool) -> Iterator[Watched]:
    """Has calls of allocators that are linked into files of the program watched while it runs.

    Of `launch`, which loads the recorder, the yielded one is to be run, once. Calls are seen in windows of
    time that cost a process at most `MOST_OVERHEAD` of its CPU time; the first ones are paid for afterwards.
    The executable and the libraries that it is linked to are watched from its first instruction on; files
    that other processes execute, or that are opened later, from some tenths of a second after that. Where
    nobody may set uprobes the program runs as it is, and the note names the files. Reading the mappings of
    the processes takes at most 2 % of a core.
    """
    if _READY in launch.options:
        yield Watched(launch)
        return
    with _Gate() as gate:
        watched = Watched(gate.behind(launch))
        over = threading.Event()

        def watch() -> None:
            try:
                process = gate.wait(over)
                may_probe = privileges.may_probe()
                if not may_probe:
                    gate.release()
                if process:
                    watched.outcome = native.attach(
                        native_name(path.absolute()),
                        process,
                        _FOREVER,
                        _nothing,
                        MOST_OVERHEAD,
                        python,
                        gate.release if may_probe else None,
                        over.is_set,
                        native_files.preload("record").name,
                    )
            except OSError:
                pass  # the recorder says itself that the file cannot be written
            finally:
                gate.release()

        thread = threading.Thread(target=watch, name="reap-linked")
        thread.start()
        try:
            yield watched
        finally:
            over.set()
            thread.join()


_READY = "--ready-fd"


def _nothing() -> None:
    """The trace is there already."""


class _Gate(contextlib.AbstractContextManager["_Gate"]):
    """Holds one launcher until its program is to be executed, and tells which process that is."""

    def __init__(self) -> None:
        self._ready, self._announce = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self._ready.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._start, self._closing = os.pipe()
        self._released = False
        self._releasing = threading.Lock()

    def __exit__(self, *_: object) -> None:
        self.release()
        os.close(self._start)
        self._ready.close()
        self._announce.close()

    def behind(self, launch: Launch) -> Launch:
        """Copy of `launch` that waits for `release()` before it executes the program."""
        announce = self._announce.fileno()
        options = [*launch.options, _READY, str(announce), "--start-fd", str(self._start)]
        return replace(launch, options=options, passed=[*launch.passed, announce, self._start])

    def wait(self, over: threading.Event) -> int:
        """The process that is about to execute the program; 0 where `over` is set before."""
        while not select.select([self._ready], [], [], _ASK)[0]:
            if over.is_set():
                return 0
        _, told, _, _ = self._ready.recvmsg(1, socket.CMSG_SPACE(_CREDENTIALS.size))
        launchers = [_CREDENTIALS.unpack(data[: _CREDENTIALS.size])[0] for _, _, data in told]
        programs = [child for launcher in launchers for child in smaps.children(launcher)]
        return programs[0] if len(programs) == 1 else 0

    def release(self) -> None:
        """Lets the program be executed."""
        with self._releasing:
            if not self._released:
                os.close(self._closing)
            self._released = True
