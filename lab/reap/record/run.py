"""Runs what is recorded in a thread, while the view has the terminal."""

import contextlib
import os
import signal
import tempfile
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from subprocess import Popen
from types import FrameType
from typing import Any, BinaryIO, Self

from reap import native
from reap.launch import spawn
from reap.launch.records import Launch, Outcome
from reap.recording import attach

Start = Callable[[Launch], Outcome]
"""Runs a program to its end."""
_PASSED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2),
)


class Attached:
    """A process that runs already, recorded from outside until the context ends."""

    def __init__(self, pid: int, seconds: float, path: Path, options: dict[str, Any]) -> None:
        """`options` are those of `attach.attach`, which records at most `seconds`."""
        self._pid, self._seconds, self._path, self._options = pid, seconds, path, options
        self._created = threading.Event()
        self._stopped = threading.Event()
        self._thread = ThreadPoolExecutor(1, "reap-attach")

    def __enter__(self) -> Self:
        """Begins. Throws what `attach.attach` throws; else the recording can be read."""
        self._watching = self._thread.submit(
            attach.attach,
            self._pid,
            self._seconds,
            self._path,
            **self._options,
            verb="record --live",
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

    def __init__(
        self, record: Callable[[Start], Outcome], output: Output, created: Callable[[], None]
    ) -> None:
        """`record` records it until it ends, and starts it with what it is given.

        `created` is called when the recording can be read, before the program runs.
        """
        self._record = record
        self._output = output
        self._created = created
        self._process: Popen[bytes] | None = None
        self._waiting: list[signal.Signals] = []
        self._lock = threading.RLock()  # a handler of signals may interrupt its own thread in `send`
        self._begun = threading.Event()
        self._outcome: Outcome | None = None
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="reap-program")

    def start(self) -> None:
        """Starts it."""
        self._thread.start()

    def wait_started(self) -> None:
        """Waits until its recording can be read. Throws what `record` threw before that."""
        while not self._begun.wait(0.05):
            if self.ended and not self._begun.is_set():
                self.outcome()

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

    @contextlib.contextmanager
    def passing_on(self) -> Iterator[None]:
        """While the context lasts, the program gets signals that we get, as where it has the terminal."""
        taken = [number for number in _PASSED_ON if signal.getsignal(number) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._pass_on) for number in taken}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _pass_on(self, number: int, _frame: FrameType | None) -> None:
        self.send(signal.Signals(number))

    def _run(self) -> None:
        try:
            self._outcome = self._record(self._start)
        except BaseException as error:  # noqa: BLE001 - is thrown again in the other thread
            self._error = error

    def _start(self, launch: Launch) -> Outcome:
        self._created()
        self._begun.set()
        with tempfile.TemporaryDirectory(prefix="reap-") as scratch, self._output.opened() as output:
            prepared = spawn.Prepared(launch, Path(scratch))
            with spawn.started(prepared.command, launch, apart=True, output=output) as launcher:
                with self._lock:
                    self._process = launcher.process
                    for number in self._waiting:
                        launcher.process.send_signal(number)
                return prepared.outcome(launcher.result())
