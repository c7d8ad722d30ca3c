"""`reap live`: the program does what it does alone, with the view and without; what is said at the end."""

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import warnings
from pathlib import Path

import pytest
from programs import program, reap, reap_command
from recorded import target

from reap.base.errors import ExitCode
from reap.recording import read

WRITES = """
import os, sys, time
for n in range(20):
    os.write(1, bytes(range(256)))
    os.write(2, b"\\x1b[2J%d\\r" % n)
    time.sleep(0.05)
sys.exit(int(sys.argv[1]))
"""
LINE = re.compile(r"^ +[\d.]+ s  .* allocations/s  .*/s  live .*  resident .*$", re.MULTILINE)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


@pytest.mark.parametrize("status", [0, 3])
def test_plain_lines_leave_the_program_alone(tmp_path, status):
    command = ["live", "--interval", "0.1", "-o", "x.reap", "--", *python(WRITES, str(status))]
    done = reap(*command, cwd=tmp_path, text=False)
    assert done.returncode == status
    assert done.stdout == bytes(range(256)) * 20
    for n in range(20):
        assert b"\x1b[2J%d\r" % n in done.stderr
    said = done.stderr.decode(errors="replace")
    assert len(LINE.findall(said.replace("\r", "\n"))) >= 2
    assert re.search(
        r"allocations, .* frees; at most ~.* live, .* resident \(triage: counts exact, ~ from", said
    )
    assert said.endswith("the recording: x.reap\nnext: reap show x.reap\n")
    recorded = read.read(tmp_path / "x.reap")
    assert recorded.header().finished


def test_the_program_has_the_standard_input():
    done = reap("live", "--plain", "--", *python("print(input()[::-1])"), stdin=None, input="desserts\n")
    assert done.stdout == "stressed\n"


def test_without_o_nothing_is_left_and_the_next_command_records(tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    done = reap("live", "--", target("killed"), "exit", env=environment, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.splitlines()[-1] == f"next: reap record -- {target('killed')} exit"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--", target("killed"), "abort"), 134, "was ended by SIGABRT"),
        (("--", target("killed"), "kill"), 137, "was ended by SIGKILL"),
        (("--timeout", "0.5", "--", target("killed"), "wait"), ExitCode.TIMED_OUT, "was ended after 0.5 s"),
        (("--", "/no/such/program"), ExitCode.NOT_FOUND, "/no/such/program"),
        (("--", program("peak_static"), "1"), ExitCode.NOT_EXECUTABLE, "static"),
        ((), ExitCode.USAGE, "give one recording, or a program after --"),
        (("a", "b"), ExitCode.USAGE, "give one recording, or a program after --"),
        (("-o", "-", "--", "true"), ExitCode.USAGE, "standard output"),
        (("--interval", "0", "--", "true"), ExitCode.USAGE, "0.1"),
        (("x.reap",), ExitCode.INTERNAL, "No such file"),
    ],
)
def test_what_it_exits_with(tmp_path, words, status, said):
    done = reap("live", *words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_exists_is_kept(tmp_path):
    (tmp_path / "x.reap").write_text("mine")
    done = reap("live", "-o", "x.reap", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "exists already" in done.stderr
    assert (tmp_path / "x.reap").read_text() == "mine"
    assert reap("live", "-f", "-o", "x.reap", "--", "true", cwd=tmp_path).returncode == 0


@pytest.mark.timed
def test_after_its_seconds_the_program_runs_on():
    code = "import time; time.sleep(2); print('end')"
    done = reap("live", "--interval", "0.2", "--seconds", "0.5", "--", *python(code))
    assert done.stdout == "end\n"
    assert 1 <= len(LINE.findall(done.stderr)) <= 4


@contextlib.contextmanager
def recording(folder: Path):
    """A program that is recorded into k.reap meanwhile, and waits."""
    command = [*reap_command(), "record", "-d", "full", "-o", "k.reap", "--", target("killed"), "wait"]
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.read(1) == b"!"
        yield process
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def test_it_attaches_to_a_recording_in_progress(tmp_path):
    with recording(tmp_path) as process:
        done = reap("live", "--interval", "0.1", "--seconds", "0.5", "k.reap", cwd=tmp_path)
        assert process.poll() is None
    assert done.returncode == 0, done.stderr
    assert len(LINE.findall(done.stderr)) >= 2
    assert "most live: main (targets/killed.c:" in done.stderr
    assert done.stderr.splitlines()[-2].endswith("(every event, exact)")
    assert done.stderr.splitlines()[-1] == "next: reap show k.reap"
    # And to one that is over.
    done = reap("live", "k.reap", cwd=tmp_path)
    assert done.returncode == 0
    assert len(LINE.findall(done.stderr)) == 1


def test_ctrl_c_ends_watching_and_not_the_recording(tmp_path):
    with recording(tmp_path) as process:
        command = [*reap_command(), "live", "--interval", "0.1", "k.reap"]
        watching = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        first = watching.stderr.readline()
        watching.send_signal(signal.SIGINT)
        _, rest = watching.communicate()
        assert process.poll() is None
    assert watching.returncode == 0
    assert LINE.match(first)
    assert rest.endswith("next: reap show k.reap\n")


class Terminal:
    """A command in a terminal of its own."""

    def __init__(self, folder: Path, *words: str) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: it executes at once
            self.pid, self._terminal = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ["TERM"] = "xterm-256color"
            command = [*reap_command(), *words]
            os.execv(command[0], command)  # noqa: S606
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 120, 0, 0))
        self.seen = b""

    def types(self, keys: bytes) -> None:
        os.write(self._terminal, keys)

    def waits(self, word: bytes) -> None:
        until = time.monotonic() + 60
        while word not in self.seen:
            assert time.monotonic() < until, self.seen
            self._read()

    def ends(self) -> int:
        """Its exit code."""
        until = time.monotonic() + 60
        with contextlib.suppress(OSError):  # the other side is closed
            while True:
                assert time.monotonic() < until, self.seen
                self._read()
        _, status = os.waitpid(self.pid, 0)
        os.close(self._terminal)
        return os.waitstatus_to_exitcode(status)

    def _read(self) -> None:
        if select.select([self._terminal], [], [], 1)[0]:
            chunk = os.read(self._terminal, 1 << 16)
            if not chunk:
                raise OSError
            self.seen += chunk


WAITS = """
import os, sys, time
def wait():
    while not os.path.exists("go"): time.sleep(0.01)
"""
RAW = b"\x01\x7f\xffcol\x1b[31mour"
LEAVES = b"\x1b[?1049l"
"""What leaves the alternate screen: behind it is what the user keeps."""


def test_in_a_terminal_the_view_is_shown_and_the_output_comes_after_it(tmp_path):
    code = f"os.write(1, {RAW!r}); wait(); os.write(2, b'late'); raise SystemExit(5)"
    terminal = Terminal(tmp_path, "live", "--interval", "0.2", "-o", "x.reap", "--", *python(WAITS + code))
    terminal.waits(b"Most bytes in use")
    terminal.waits(b"stdout")
    (tmp_path / "go").touch()
    assert terminal.ends() == 5
    view, _, kept = terminal.seen.rpartition(LEAVES)
    assert RAW not in view
    assert kept.count(RAW) == 1
    assert kept.count(b"late") == 1
    assert kept.endswith(b"the recording: x.reap\r\nnext: reap show x.reap\r\n")
    assert b"Traceback" not in kept
    assert (tmp_path / "x.reap").exists()


def test_q_closes_the_view_and_the_program_runs_on(tmp_path):
    code = "print('before', flush=True); wait(); print('after')"
    terminal = Terminal(tmp_path, "live", "--interval", "0.2", "--", *python(WAITS + code))
    terminal.waits(b"Most bytes in use")
    terminal.types(b"q")
    terminal.waits(LEAVES)
    terminal.waits(b"before\r\n")
    assert b"after\r\n" not in terminal.seen
    (tmp_path / "go").touch()
    assert terminal.ends() == 0
    kept = terminal.seen.rpartition(LEAVES)[2]
    assert kept.index(b"before\r\n") < kept.index(b"after\r\n")


def test_ctrl_c_interrupts_the_program(tmp_path):
    code = (
        "\ntry: print('rea' + 'dy', flush=True); wait()\nexcept BaseException: print('caught'); sys.exit(7)"
    )
    terminal = Terminal(tmp_path, "live", "--interval", "0.2", "--", *python(WAITS + code))
    terminal.waits(b"ready")
    terminal.types(b"\x03")
    assert terminal.ends() == 7
    assert b"caught" in terminal.seen.rpartition(LEAVES)[2]


def test_sigterm_ends_the_program_and_restores_the_terminal(tmp_path):
    terminal = Terminal(tmp_path, "live", "--interval", "0.2", "--", "sleep", "60")
    terminal.waits(b"Most bytes in use")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 128 + signal.SIGTERM
    assert LEAVES in terminal.seen
    assert b"was ended by SIGTERM" in terminal.seen.rpartition(LEAVES)[2]


def test_in_a_terminal_it_attaches_to_a_recording(tmp_path):
    with recording(tmp_path) as process:
        terminal = Terminal(tmp_path, "live", "--interval", "0.2", "k.reap")
        terminal.waits(b"killed.c:")
        terminal.types(b"\x03")
        assert terminal.ends() == 0
        assert process.poll() is None
    assert terminal.seen.endswith(b"next: reap show k.reap\r\n")
