"""Reads a recording while it is made, and runs the program that is recorded."""

import contextlib
import os
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen
from typing import BinaryIO, Self

from msgspec.structs import replace

from reap import native
from reap.base.files import native_name
from reap.launch import spawn
from reap.launch.records import Launch, Outcome
from reap.live import analyse
from reap.live.records import Depth, Moment
from reap.recording import attach
from reap.recording.analyse.frames import names
from reap.recording.analyse.sites import telling
from reap.recording.analyse.sizes import bins
from reap.recording.read import reading

MOST_EVENTS = 500_000
"""That are read at once, in about 0.1 s of CPU time."""
_STACKS = 200
"""With most bytes in use, and as many with most allocations: their names are looked up."""
_SITES = 30
_SILENCE = 5.0
"""Seconds without a measurement by the launcher, which takes one each second, after which it is gone."""


class Watched:
    """A recording in progress."""

    def __init__(self, path: Path) -> None:
        """Throws ReapError where the file cannot be read, or is no recording."""
        self._path = path
        with reading(path):
            self._recording = native.GrowingRecording(native_name(path))
        self._names: dict[tuple[int, int], analyse.Place] = {}
        self._before = (0.0, 0, 0)
        self._last: Moment | None = None
        self._measured = (0, time.monotonic())

    def look(self, *, ended: bool = False) -> Moment:
        """Reads what is new since the last look. `ended`: nothing more is written.

        Reads at most about `MOST_EVENTS` events; where more are waiting, the moment is `behind`. Throws
        ReapError where the file was cut short or written over.
        """
        recording = self._recording
        over = ended or self._is_over()
        with reading(self._path):
            behind = recording.update(MOST_EVENTS, over)
            if recording.finished and not over:  # as this look has found
                over, behind = True, recording.update(MOST_EVENTS, True)
        now = recording.now()
        seconds, allocations, size = self._before
        # What is attached is told of some tenths of a second at once, or of seconds.
        until = now.last_event if recording.attached else now.seconds
        passed = until - seconds
        if recording.attached and passed <= 0 and now.seconds - until < _SILENCE and self._last is not None:
            return self._again(self._last, now, over=over and not behind, behind=behind)
        self._before = (until, now.objects, now.bytes)
        sites = analyse.sites(recording.stacks(_STACKS), self._place, passed)
        self._last = Moment(
            depth=self._depth(),
            command=recording.command,
            seconds=now.seconds,
            allocations=now.objects,
            bytes=now.bytes,
            frees=now.frees,
            allocations_per_second=analyse.rate(now.objects, allocations, passed),
            bytes_per_second=analyse.rate(now.bytes, size, passed),
            live_bytes=max(0.0, now.live_bytes),
            peak_bytes=now.peak_bytes,
            samples=now.samples,
            resident=now.resident,
            peak_resident=now.peak_resident,
            running=now.running,
            processes=now.processes,
            sizes=bins(recording.sizes()),
            live_sites=analyse.by_live(sites, _SITES),
            busy_sites=analyse.by_rate(sites, _SITES),
            large_sites=analyse.by_bytes(sites, _SITES) if recording.attached else [],
            behind=behind,
            over=over and not behind,
            notes=self._notes(),
        )
        return self._last

    def _again(self, last: Moment, now: native.Now, *, over: bool, behind: bool) -> Moment:
        """Repeats the last moment, as nothing was reported since."""
        return replace(
            last,
            seconds=now.seconds,
            resident=now.resident,
            peak_resident=now.peak_resident,
            running=now.running,
            over=over,
            behind=behind,
            notes=self._notes(),
        )

    def _depth(self) -> Depth:
        if self._recording.attached:
            return "attached"
        return "full" if self._recording.depth == native.FULL else "triage"

    def _is_over(self) -> bool:
        """Whether the recording was closed, or those who would write to it are gone."""
        recording = self._recording
        if recording.finished:
            return True
        now = recording.now()
        if now.running or now.measurements != self._measured[0]:
            self._measured = (now.measurements, time.monotonic())
        silent = time.monotonic() - self._measured[1] > _SILENCE
        return not now.running and (silent or (recording.ended and now.processes > 0))

    def _place(self, image: int, stack: int) -> analyse.Place:
        key = (image, stack)
        if key not in self._names:
            self._names[key] = names(telling(self._recording.frames(image, stack)))
        return self._names[key]

    def _notes(self) -> list[str]:
        damage = self._recording.damage()
        said = []
        if self._recording.stop_reason:
            said.append(f"Events are missing from some moment on; reap show {self._path} says why.")
        if damage.foreign or damage.corrupt or damage.truncated or damage.malformed:
            said.append("A part of the file is damaged; what is shown lacks it.")
        return said


class Attached:
    """A process that runs already, watched from outside into a recording until the context ends."""

    def __init__(self, pid: int, path: Path, *, force: bool) -> None:
        self._pid, self._path, self._force = pid, path, force
        self._created = threading.Event()
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, "reap-live-attach")

    def __enter__(self) -> Self:
        """Begins. Throws what `attach.attach` throws; else the recording can be read."""
        self._watching = self._thread.submit(
            attach.attach,
            self._pid,
            attach.FOREVER,
            self._path,
            force=self._force,
            verb="live",
            created=self._created.set,
            stopped=self._stopped.is_set,
        )
        try:
            while not self._created.wait(0.05) and not self.ended:
                pass
        except BaseException:
            self._stop()
            raise
        if not self._created.is_set():
            self.outcome()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    @property
    def ended(self) -> bool:
        """Whether the recording is complete."""
        return self._watching.done()

    def outcome(self) -> native.AttachOutcome:
        """Outcome of the attachment, when it has ended. Throws what `attach.attach` throws."""
        return self._watching.result()

    def _stop(self) -> None:
        self._stopped.set()
        self._thread.shutdown()


class Output:
    """Output of a program while the view has the terminal: files, shown in part, printed after it."""

    def __init__(self, folder: Path) -> None:
        self._files = [folder / "stdout", folder / "stderr"]
        self._printed = [0, 0]
        for file in self._files:
            file.touch()

    @contextlib.contextmanager
    def opened(self) -> Iterator[tuple[BinaryIO, BinaryIO]]:
        """Both, for the program to append to."""
        with self._files[0].open("ab") as out, self._files[1].open("ab") as err:
            yield out, err

    def tail(self, stream: int, lines: int) -> list[str]:
        """The last lines of standard output (0) or standard error (1), at most 4 KB of them."""
        with self._files[stream].open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
            return file.read().decode(errors="replace").splitlines()[-lines:]

    def relay(self) -> None:
        """Writes what came since the last call to our own standard output and standard error, unchanged."""
        for stream, path in enumerate(self._files):
            with path.open("rb") as file:
                file.seek(self._printed[stream])
                while chunk := file.read(1 << 16):
                    self._printed[stream] += len(chunk)
                    rest = memoryview(chunk)
                    while rest:
                        rest = rest[os.write(stream + 1, rest) :]


class Running:
    """A program that is recorded while something else has the terminal."""

    def __init__(self, record: Callable[[Callable[[Launch], Outcome]], Outcome], output: Output) -> None:
        """`record` records it, by what it is given to start it with, until it ends."""
        self._record = record
        self._output = output
        self._process: Popen[bytes] | None = None
        self._waiting: list[signal.Signals] = []
        self._lock = threading.Lock()
        self._begun = threading.Event()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="reap-live-program")

    def start(self) -> None:
        """Starts it."""
        self._thread.start()

    def started(self) -> bool:
        """Waits until its recording is there; False where it could not be started."""
        while not self._begun.wait(0.05):
            if self.ended:
                return self._begun.is_set()
        return True

    @property
    def ended(self) -> bool:
        """Whether it has ended, and its recording is complete."""
        return not self._thread.is_alive()

    def send(self, number: signal.Signals) -> None:
        """Sends it a signal, when it is there."""
        with self._lock:
            if self._process is None:
                self._waiting.append(number)
            elif self._process.poll() is None:
                self._process.send_signal(number)

    def wait(self, seconds: float) -> None:
        """Until it ends, at most so long."""
        self._thread.join(seconds)

    def outcome(self) -> Outcome:
        """Outcome of the program, when it has ended. Throws what `record` threw."""
        self._thread.join()
        if self._error is not None:
            raise self._error
        assert self._outcome is not None  # noqa: S101 - one of the two is set
        return self._outcome

    def _run(self) -> None:
        try:
            self._outcome = self._record(self._start)
        except BaseException as error:  # noqa: BLE001 - is thrown again in the other thread
            self._error = error

    def _start(self, launch: Launch) -> Outcome:
        self._begun.set()
        with tempfile.TemporaryDirectory(prefix="reap-") as scratch, self._output.opened() as output:
            prepared = spawn.Prepared(launch, Path(scratch))
            with spawn.started(prepared.command, launch, apart=True, output=output) as launcher:
                with self._lock:
                    self._process = launcher.process
                    for number in self._waiting:
                        launcher.process.send_signal(number)
                return prepared.outcome(launcher.result())
