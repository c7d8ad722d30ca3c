"""Runs a program through the launcher, which keeps our own size out of the program's peak memory."""

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import msgspec

from reap.allocators import library
from reap.errors import ExitCode, ReapError
from reap.launch import native_files, probe, requests
from reap.launch.records import Launch, Outcome

_PATIENCE = 2.0
"""Seconds that a program gets to end when we are interrupted, and then once more."""

_STANDARD_ERROR = 2
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Failure(msgspec.Struct):
    """What the launcher writes when the program did not run."""

    failed_step: str
    errno: int


def run(launch: Launch) -> Outcome:
    """Runs the program to its end and returns what it cost.

    Throws ReapError with exit code 126 or 127 if the program could not be executed, and 125 if the
    launcher failed. If this process is interrupted, a captured program is ended before the exception goes on;
    one that has the terminal gets the signal instead, and decides.
    """
    with tempfile.TemporaryDirectory(prefix="reap-") as scratch:
        sink, marked = Path(scratch) / "probe", Path(scratch) / "requests"
        if launch.probe:
            sink.touch()
        if launch.requests:
            requests.prepare(marked)
        outcome = _decode(launch, _spawn(_command(launch, Path(scratch), sink, marked), launch))
        if launch.requests:
            outcome = msgspec.structs.replace(outcome, requests=requests.read(marked))
        if not launch.probe:
            return outcome
        heap = probe.read(sink)
        provider = next(iter(heap.values()), {}).get("malloc", "")
        return msgspec.structs.replace(outcome, heap=heap, malloc_provider=provider)


def compose_preloads(launch: Launch, scratch: Path) -> str:
    """The value of LD_PRELOAD: reap's own, the allocator, then what the user preloads anyway.

    Behind reap's own and the allocator stands what keeps all of these out of programs that they would break.

    The order matters: the recorder must see a call before the allocator does, and a user's preload has to
    meet both as it would meet the C library. The loader splits the list at spaces and colons; a file whose
    path has one gets a link in `scratch`.
    """
    probes = [str(native_files.preload("probe"))] if launch.probe else []
    timers = [str(native_files.preload("requests"))] if launch.requests else []
    ours = [*probes, *timers, *launch.preloads, *library.preloads(launch.allocator)]
    if ours:
        ours.append(str(native_files.preload("exec")))
    linked = [_without_separators(path, scratch / str(number)) for number, path in enumerate(ours)]
    inherited = "" if "LD_PRELOAD" in launch.remove else os.environ.get("LD_PRELOAD", "")
    theirs = launch.environment.get("LD_PRELOAD", inherited)
    return ":".join([*linked, *([theirs] if theirs else [])])


def _without_separators(path: str, folder: Path) -> str:
    if not any(separator in path for separator in " \t\n:"):
        return path
    folder.mkdir()
    link = folder / Path(path).name.translate(str.maketrans(" \t\n:", "____"))
    link.symlink_to(Path(path).absolute())
    return str(link)


def _command(launch: Launch, scratch: Path, sink: Path, marked: Path) -> list[str]:
    command = [str(native_files.spawner()), "--program", launch.program]
    if launch.capture:
        command.append("--capture")
    if launch.resident:
        command.append("--resident")
    if launch.stdin:
        command += ["--stdin", str(Path(launch.stdin).absolute())]
    if launch.timeout is not None:
        command += ["--timeout-ms", str(max(1, round(launch.timeout * 1000)))]
    for number in _ignored():
        command += ["--ignore", str(int(number))]
    for name in launch.remove:
        command += ["--unset", name]
    for name, value in launch.environment.items():
        command += ["--set", f"{name}={value}"]
    if preloads := compose_preloads(launch, scratch):
        command += ["--preload", preloads]
    if launch.probe:
        command += ["--set", f"{probe.VARIABLE}={sink}"]
    if launch.requests:
        command += ["--set", f"{requests.VARIABLE}={marked}"]
    return [*command, *launch.options, "--", *launch.argv]


def _inherited() -> list[int]:
    """The descriptors above standard error that we were started with and pass on to the program.

    `diff <(a) <(b)`, job servers and socket activation need them. Python opens its own for itself alone.
    """
    found = []
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names alone
        number = int(name)
        with contextlib.suppress(OSError):  # that of the listing itself is closed again
            if number > _STANDARD_ERROR and os.get_inheritable(number):
                found.append(number)
    return found


def _ignored() -> list[signal.Signals]:
    """The signals that we pass on and were started to ignore, as by nohup: the program ignores them, too."""
    return [number for number in _PASSED_ON if signal.getsignal(number) is signal.SIG_IGN]


def _spawn(command: Sequence[str], launch: Launch) -> bytes:
    receiving, sending = os.pipe()
    signals = contextlib.nullcontext(_Signals()) if launch.capture else _passed_on()
    with contextlib.closing(os.fdopen(receiving, "rb")) as answer, signals as passing:
        try:
            process = subprocess.Popen(
                [command[0], "--result-fd", str(sending), *command[1:]],
                pass_fds=[sending, *_inherited()],
                cwd=launch.directory or None,
            )
        except OSError as error:
            raise ReapError(f"the launcher {command[0]} cannot be started: {error.strerror}") from error
        finally:
            os.close(sending)
        try:
            passing.to(process)
            text = answer.read()
            process.wait()
        except BaseException:
            _end(process)
            raise
    if process.returncode != 0 or not text:
        raise ReapError(
            f"the launcher failed ({_how(process.returncode)}) when running {launch.program}",
            "run `reap doctor`",
        )
    return text


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
        # A terminal's Ctrl-C goes to the whole foreground group: the program has it already.
        if number == signal.SIGINT and _in_foreground():
            return
        if self._process is None:
            self._waiting.append(number)
        else:
            self._process.send_signal(number)


@contextlib.contextmanager
def _passed_on() -> Iterator[_Signals]:
    """While a program has the terminal, what is sent to us is meant for it: it decides what comes of it."""
    signals = _Signals()
    if threading.current_thread() is not threading.main_thread():
        yield signals  # handlers belong to the main thread, and so does what they would protect from
        return
    before = {number: signal.signal(number, signals.pass_on) for number in _PASSED_ON}
    try:
        yield signals
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _in_foreground() -> bool:
    try:
        with Path("/dev/tty").open() as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _end(process: subprocess.Popen[bytes]) -> None:
    """Asks, asks again (the launcher then ends the whole tree, with SIGKILL after a second), and kills."""
    for _ in range(2):
        process.send_signal(signal.SIGTERM)
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
