"""`reap show --live`: a recording that another command makes is shown, and not disturbed."""

import contextlib
import re
import signal
import subprocess
from pathlib import Path

import pytest
from programs import reap, reap_command
from recorded import target
from terminals import Terminal

from reap.base.errors import ExitCode

LINE = re.compile(r"^ +[\d.]+ s  .* allocations/s  .*/s  live .*  resident .*$", re.MULTILINE)


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


def watch(folder: Path, lines: int) -> tuple[list[str], subprocess.Popen]:
    """Interrupts `reap show --live` after so many lines; what it printed, and the process that ended."""
    command = [*reap_command(), "show", "--live", "--interval", "0.1", "k.reap"]
    watching = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
    printed = [watching.stderr.readline() for _ in range(lines)]
    watching.send_signal(signal.SIGINT)
    _, rest = watching.communicate()
    return printed + rest.splitlines(keepends=True), watching


def test_ctrl_c_ends_watching_and_not_the_recording(tmp_path):
    with recording(tmp_path) as process:
        printed, watching = watch(tmp_path, 2)
        assert process.poll() is None
    assert watching.returncode == 0, printed
    assert all(LINE.match(line) for line in printed[:2]), printed
    assert "most live: main (targets/killed.c:" in printed[0]
    assert printed[-2].endswith("(every event, exact)\n")
    assert printed[-1] == "next: reap show k.reap\n"


def test_a_recording_that_is_over_is_shown_once(tmp_path):
    with recording(tmp_path):
        pass
    done = reap("show", "--live", "k.reap", cwd=tmp_path)
    assert done.returncode == 0
    assert len(LINE.findall(done.stderr)) == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--live", "--json", "-"), ExitCode.USAGE, "--json must not be used with --live"),
        (("--live", "--html", "x.html"), ExitCode.USAGE, "--html must not be used with --live"),
        (
            ("--live", "--callers", "--resolve"),
            ExitCode.USAGE,
            "--callers, --resolve must not be used with --live",
        ),
        (("--live", "--interval", "0"), ExitCode.USAGE, "0.1"),
        (("--interval", "2"), ExitCode.USAGE, "--interval requires --live"),
        (("--live",), ExitCode.INTERNAL, "No such file"),
    ],
)
def test_what_it_refuses(tmp_path, words, status, said):
    done = reap("show", *words, "x.reap", cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_in_a_terminal_it_attaches_to_a_recording(tmp_path):
    with recording(tmp_path) as process:
        terminal = Terminal(tmp_path, "show", "--live", "--interval", "0.2", "k.reap")
        terminal.waits(b"killed.c:")
        terminal.types(b"\x03")
        assert terminal.ends() == 0
        assert process.poll() is None
    assert terminal.seen.endswith(b"next: reap show k.reap\r\n")
