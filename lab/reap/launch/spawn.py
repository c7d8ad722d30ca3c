"""Runs a program through the launcher, which keeps our own size out of the program's peak memory."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import BinaryIO

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.launch import native_files, preloads, price, probe, requests
from reap.launch.process import resident
from reap.launch.process.settled import Interval
from reap.launch.records import Ahead, Launch, Outcome

_PATIENCE = 2.0
"""Seconds that a program gets to end when we are interrupted, and then once more."""

_STANDARD_ERROR = 2
_PASSED_ON = (
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGUSR1, signal.SIGUSR2, signal.SIGWINCH, signal.SIGCONT),
)
_PYTHONS_OWN = (signal.SIGPIPE, signal.SIGXFSZ)
"""What Python ignores before we can look whether we were started to ignore it."""
_PASS_ON_AS_THEY_ARE = frozenset({"sh", "bash", "dash", "ksh", "zsh", "busybox", "timeout", "systemd"})
"""Programs that start others with the signals ignored that they ignore themselves: shells have to (POSIX)."""
_STARTED_IGNORING = "REAP_STARTED_IGNORING"
"""What the command `reap` was started to ignore: its process id and a mask, see lab/spawn/command."""
_STOPS = (signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)
"""What a terminal stops a job with. We stop when the program has stopped: the launcher sees to that."""
_NO_MORE_PATIENCE = signal.SIGRTMIN
"""Has the launcher end the whole tree."""


class _Failure(msgspec.Struct):
    """Answer of the launcher when the program did not run."""

    failed_step: str
    errno: int


def run(launch: Launch) -> Outcome:
    """Runs the program to its end and returns what it cost.

    Throws ReapError with exit code 126 or 127 if the program could not be executed, and 125 if the
    launcher failed. If this process is interrupted, a captured program is ended before the exception goes on,
    or instead of it where it is `interruptible`; one that has the terminal gets the signal, and decides.
    """
    with tempfile.TemporaryDirectory(prefix="reap-") as scratch:
        prepared = Prepared(launch, Path(scratch))
        text, interrupted = _spawn(prepared.command, launch)
        outcome = prepared.outcome(text)
        return msgspec.structs.replace(outcome, interrupted=True) if interrupted else outcome


def pinned(launch: Launch, core: int | None) -> Launch:
    """Launch on one core; None: on all."""
    if core is None:
        return launch
    return msgspec.structs.replace(launch, options=[*launch.options, "--core", str(core)])


class Prepared:
    """A launch with the files that it needs beside it, which live in `scratch`."""

    def __init__(self, launch: Launch, scratch: Path) -> None:
        self.launch = launch
        self._sink, self._marked = scratch / "probe", scratch / "requests"
        self._samples = scratch / "resident"
        if launch.probe:
            self._sink.touch()
        if launch.requests:
            requests.prepare(self._marked)
        self._price = price.prepare(launch, scratch)
        self.command = _command(
            launch, scratch, self._sink, self._marked, price.variables(self._price, launch)
        )
        """The launcher's, but for where its result goes."""

    def spent_ahead(self) -> Ahead:
        """Cost so far of memory ahead of the program, under a preload that touches it."""
        return price.total((self._price and price.read(self._price)) or [])

    def outcome(self, text: bytes, turns: Sequence[Interval] = ()) -> Outcome:
        """Outcome from the launcher's result; of a program that took turns, its time is that of these.

        Throws ReapError if the program was not executed.
        """
        outcome = _decode(self.launch, text)
        if self.launch.resident:
            seen = resident.read(self._samples, outcome.wall_ns, turns)
            outcome = msgspec.structs.replace(outcome, **seen)
        if self.launch.requests:
            outcome = msgspec.structs.replace(outcome, requests=requests.read(self._marked))
        if self._price is not None:
            outcome = price.net(outcome, self._price)
        if turns:
            outcome = msgspec.structs.replace(outcome, wall_ns=sum(end - begin for begin, end in turns))
        if not self.launch.probe:
            return outcome
        heap = probe.read(self._sink)
        provider = next(iter(heap.values()), {}).get("malloc", "")
        return msgspec.structs.replace(outcome, heap=heap, malloc_provider=provider)


def _command(
    launch: Launch, scratch: Path, sink: Path, marked: Path, variables: Mapping[str, str]
) -> list[str]:
    command = [str(native_files.spawner()), "--program", launch.program]
    if launch.capture:
        command.append("--capture")
        command += ["--keep", str(Path(launch.keep).absolute())] if launch.keep else []
    if launch.resident:
        command += ["--resident", str(scratch / "resident")]
    if launch.stdin:
        command += ["--stdin", str(Path(launch.stdin).absolute())]
    if launch.timeout is not None:
        command += ["--timeout-ms", str(max(1, round(launch.timeout * 1000)))]
    for number in _ignored():
        command += ["--ignore", str(int(number))]
    for name in launch.remove:
        command += ["--unset", name]
    for name, value in {**launch.environment, **variables, **preloads.compose(launch, scratch)}.items():
        command += ["--set", f"{name}={value}"]
    if launch.probe:
        command += ["--set", f"{probe.VARIABLE}={sink}"]
    if launch.requests:
        command += ["--set", f"{requests.VARIABLE}={marked}"]
    if launch.private is not None:
        at = scratch / "private"
        at.mkdir()
        command += ["--private-at", str(at)]
        command += [word for folder in launch.private.folders for word in ("--private", folder)]
        command += [word for file in launch.private.files for word in ("--copied", file)]
    return [*command, *launch.options, "--", *launch.argv]


def _inheritable() -> dict[int, tuple[int, int]]:
    """The descriptors above standard error that a program would inherit, each with the file that it is of."""
    found = {}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        number = int(name)
        with contextlib.suppress(OSError):  # that of the listing itself is closed again
            if number > _STANDARD_ERROR and os.get_inheritable(number):
                file = os.fstat(number)
                found[number] = (file.st_dev, file.st_ino)
    return found


_GIVEN = _inheritable()
"""Those that we were started with. `diff <(a) <(b)`, job servers and socket activation need them."""


def _inherited() -> list[int]:
    """The descriptors that we were started with and pass on to the program.

    No others: libdw keeps the files open that it has read symbols from, and does not mark them as its own.
    """
    return [number for number, file in _inheritable().items() if _GIVEN.get(number) == file]


def _ignored_before_python() -> list[signal.Signals]:
    """Signals of `_PYTHONS_OWN` that we were started to ignore.

    The command `reap` has seen it and says so. Where Python was started by its name, the state of the shell
    that did so tells; behind another program none, since others, such as Python and Node.js, ignore them and
    start programs with the default.
    """
    pid, _, mask = os.environ.pop(_STARTED_IGNORING, "").partition(":")
    if pid != str(os.getpid()):
        mask = _ignored_by_shell()
    return [number for number in _PYTHONS_OWN if int(mask, 16) >> (number - 1) & 1]


def _ignored_by_shell() -> str:
    """The mask of signals that our parent ignores; none where it is no shell."""
    try:
        status = Path(f"/proc/{os.getppid()}/status").read_text(errors="replace")
    except OSError:
        return "0"
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    return facts["SigIgn"] if facts.get("Name") in _PASS_ON_AS_THEY_ARE else "0"


_GIVEN_TO_IGNORE = _ignored_before_python()


def _ignored() -> list[signal.Signals]:
    """The signals that we were started to ignore, as by nohup: the program ignores them, too."""
    ours = [number for number in (*_PASSED_ON, *_STOPS) if signal.getsignal(number) is signal.SIG_IGN]
    return [*ours, *_GIVEN_TO_IGNORE]


def _spawn(command: Sequence[str], launch: Launch) -> tuple[bytes, bool]:
    """Run the launcher: its result, and whether Ctrl-C ended the program."""
    signals = contextlib.nullcontext(_Signals()) if launch.capture else passed_on()
    with signals as passing, started(command, launch) as launcher:
        passing.to(launcher.process)
        try:
            return launcher.result(), False
        except KeyboardInterrupt:
            if not launch.interruptible:
                raise
            launcher.process.send_signal(_NO_MORE_PATIENCE)
            return launcher.result(), True


class Launcher:
    """A launcher that runs a program."""

    def __init__(self, process: subprocess.Popen[bytes], answer: BinaryIO, program: str) -> None:
        self.process = process
        self.answer = answer
        """Can be read when it has a result, or has ended without one."""
        self._program = program

    def result(self) -> bytes:
        """Text that it writes when the program has ended. Throws ReapError where it failed."""
        text = self.answer.read()
        self.process.wait()
        if self.process.returncode != 0 or not text:
            raise ReapError(
                f"the launcher failed ({_how(self.process.returncode)}) when running {self._program}",
                "run `reap doctor`",
            )
        return text

    def end(self) -> None:
        """Has it end all that it runs, at once; what came of it is dropped."""
        self.process.send_signal(_NO_MORE_PATIENCE)
        self.answer.read()
        self.process.wait()


@contextlib.contextmanager
def started(
    command: Sequence[str],
    launch: Launch,
    passed: Sequence[int] = (),
    *,
    apart: bool = False,
    output: tuple[BinaryIO, BinaryIO] | None = None,
) -> Iterator[Launcher]:
    """A launcher with the command of a `Prepared`; whatever is thrown within ends what it runs.

    `passed` are descriptors for it. With `apart` a terminal's Ctrl-C reaches this process alone, and not the
    launcher. `output` is what a program that is not captured has as standard output and standard error, in
    place of ours. Throws ReapError where it cannot be started.
    """
    receiving, sending = os.pipe()
    with os.fdopen(receiving, "rb") as answer:
        try:
            process = subprocess.Popen(
                [command[0], "--result-fd", str(sending), *command[1:]],
                pass_fds=[sending, *passed, *launch.passed, *_inherited()],
                cwd=launch.directory or None,
                process_group=0 if apart else None,
                stdout=output[0] if output else None,
                stderr=output[1] if output else None,
            )
        except OSError as error:
            raise ReapError(f"the launcher {command[0]} cannot be started: {error.strerror}") from error
        finally:
            os.close(sending)
        try:
            yield Launcher(process, answer, launch.program)
        except BaseException:
            _end(process)
            raise


class _Signals:
    """Signals on their way to a launcher; those that come before it is there wait for it."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._waiting: list[int] = []

    def to(self, process: subprocess.Popen[bytes]) -> None:
        """From now on, to this process."""
        self._process = process
        for number in self._waiting:
            process.send_signal(number)

    def pass_on(self, number: int, _frame: FrameType | None) -> None:
        """Handles a signal of ours."""
        # What goes to a whole group, as a terminal's Ctrl-C, the launcher gets, too, and does not pass on.
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.send_signal(number)


@contextlib.contextmanager
def passed_on() -> Iterator[_Signals]:
    """While a program has the terminal, what is sent to us is meant for it: it decides what comes of it.

    Its launcher is told with `to`.
    """
    signals = _Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals  # handlers belong to the main thread, and so does what they would protect from
        return
    before = {number: signal.signal(number, signals.pass_on) for number in _PASSED_ON}
    # A handler, which the program does not inherit, as it would inherit that we ignore it.
    before |= {number: signal.signal(number, lambda *_: None) for number in _STOPS}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks, has the launcher end the whole tree (with SIGKILL after a second), and kills."""
    for number in (signal.SIGTERM, _NO_MORE_PATIENCE):
        process.send_signal(number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
            return
    process.kill()
    process.wait()


def _how(status: int) -> str:
    return f"exit code {status}" if status >= 0 else f"signal {-status}"


def _decode(launch: Launch, text: bytes) -> Outcome:
    if not text.startswith(b'{"failed_step"'):
        return msgspec.json.decode(text, type=Outcome)
    failure = msgspec.json.decode(text, type=_Failure)
    reason = os.strerror(failure.errno)
    if failure.failed_step != "exec":
        raise ReapError(f"the launcher failed at {failure.failed_step}: {reason}", "run `reap doctor`")
    code = ExitCode.NOT_FOUND if failure.errno == 2 else ExitCode.NOT_EXECUTABLE
    raise ReapError(f"{launch.program} cannot be executed: {reason}", "run it without reap to see more", code)
