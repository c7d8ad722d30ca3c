"""`reap record --live`: the program does what it does alone, with the view and without it."""

import os
import re
import signal
import sys
from pathlib import Path

import pytest
from programs import program, reap
from recorded import target
from terminals import LEAVES, Terminal

from reap.base.errors import ExitCode, ReapError
from reap.record import steps
from reap.recording import read

WRITES = """
import os, sys, time
for n in range(20):
    os.write(1, bytes(range(256)))
    os.write(2, b"\\x1b[2J%d\\r" % n)
    time.sleep(0.15)
sys.exit(int(sys.argv[1]))
"""
LINE = re.compile(r"^ +[\d.]+ s  .* allocations/s  .*/s  live .*  resident .*$", re.MULTILINE)


def python(code: str, *words: str) -> list[str]:
    return [sys.executable, "-c", code, *words]


@pytest.mark.parametrize("status", [0, 3])
def test_plain_lines_leave_the_program_alone(tmp_path, status):
    command = ["record", "--live", "-o", "x.reap", "--", *python(WRITES, str(status))]
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


def test_the_program_has_the_standard_input(tmp_path):
    words = ["record", "--live", "-o", "x.reap", "--", *python("print(input()[::-1])")]
    done = reap(*words, cwd=tmp_path, stdin=None, input="desserts\n")
    assert done.stdout == "stressed\n"


def test_without_o_the_recording_has_the_name_of_the_program_and_nothing_else_is_left(tmp_path):
    (tmp_path / "temporary").mkdir()
    environment = {**os.environ, "TMPDIR": str(tmp_path / "temporary")}
    words = ["record", "--live", "--", target("killed"), "exit"]
    name = f"{Path(target('killed')).name}.reap"
    done = reap(*words, env=environment, cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.endswith(f"the recording: {name}\nnext: reap show {name}\n")
    assert {path.name for path in tmp_path.iterdir()} == {name, "temporary"}
    assert list((tmp_path / "temporary").iterdir()) == []


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--", target("killed"), "abort"), 134, "was ended by SIGABRT"),
        (("--", target("killed"), "kill"), 137, "was ended by SIGKILL"),
        (("--timeout", "0.5", "--", target("killed"), "wait"), ExitCode.TIMED_OUT, "was ended after 0.5 s"),
        (("--", "/no/such/program"), ExitCode.NOT_FOUND, "/no/such/program"),
        (("--", program("peak_static"), "1"), ExitCode.NOT_EXECUTABLE, "static"),
        ((), ExitCode.USAGE, "no command to run"),
        (("-o", "-", "--", "true"), ExitCode.USAGE, "standard output"),
        (("--seconds", "1", "--", "true"), ExitCode.USAGE, "--seconds requires --pid"),
        (("--via", "uprobe", "--", "true"), ExitCode.USAGE, "reap show --live FILE"),
    ],
)
def test_what_it_exits_with(tmp_path, words, status, said):
    done = reap("record", "--live", *words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_a_file_that_exists_is_kept(tmp_path):
    (tmp_path / "x.reap").write_text("mine")
    done = reap("record", "--live", "-o", "x.reap", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "exists already" in done.stderr
    assert (tmp_path / "x.reap").read_text() == "mine"
    assert reap("record", "--live", "-f", "-o", "x.reap", "--", "true", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    "options",
    [
        ("--compress",),
        ("--max-size", "1M", "-d", "full"),
        ("--last", "512K", "-d", "full"),
        ("--start-at", "phase:never"),
        ("--label", "service=shop", "--no-python"),
    ],
)
def test_options_of_record_do_what_they_do_without_it(tmp_path, options):
    words = [*options, "-o", "x.reap", "--", target("threads"), "exchange", "2", "200000"]
    alone = reap("record", *words, cwd=tmp_path)
    kept = read.read(tmp_path / "x.reap")
    done = reap("record", "--live", "-f", *words, cwd=tmp_path)
    shown = read.read(tmp_path / "x.reap")
    assert done.returncode == alone.returncode == 0, done.stderr
    assert "; at most " in done.stderr
    named = [line for line in alone.stderr.splitlines() if "uprobes" not in line]
    assert done.stderr.splitlines()[-len(named) :] == named
    for field in ("depth", "start", "stop", "stop_reason", "ring_bytes"):
        assert getattr(shown.header(), field) == getattr(kept.header(), field), field
    assert shown.labels() == kept.labels()


@pytest.mark.parametrize("code", ["os.unlink('x.reap')", "os.truncate('x.reap', 0)"])
def test_a_lost_recording_is_reported_and_the_program_has_its_status(tmp_path, code):
    done = reap(
        "record", "--live", "-o", "x.reap", "--", *python(f"import os; {code}; exit(5)"), cwd=tmp_path
    )
    assert done.returncode == 5, done.stderr
    assert "reap: the recording x.reap" in done.stderr
    assert "next: " not in done.stderr
    assert "Traceback" not in done.stderr


WAITS = """
import os, sys, time
def wait():
    while not os.path.exists("go"): time.sleep(0.01)
"""
RAW = b"\x01\x7f\xffcol\x1b[31mour"


def test_in_a_terminal_the_view_is_shown_and_the_output_comes_after_it(tmp_path):
    code = f"os.write(1, {RAW!r}); wait(); os.write(2, b'late'); raise SystemExit(5)"
    terminal = Terminal(tmp_path, "record", "--live", "-o", "x.reap", "--", *python(WAITS + code))
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
    code = "print('before', os.readlink('/proc/self/fd/0'), flush=True); wait(); print('after')"
    terminal = Terminal(tmp_path, "record", "--live", "--", *python(WAITS + code))
    terminal.waits(b"Most bytes in use")
    terminal.types(b"q")
    terminal.waits(LEAVES)
    terminal.waits(b"before /dev/null\r\n")
    assert b"after\r\n" not in terminal.seen
    (tmp_path / "go").touch()
    assert terminal.ends() == 0
    kept = terminal.seen.rpartition(LEAVES)[2]
    assert kept.index(b"before /dev/null\r\n") < kept.index(b"after\r\n")


def test_ctrl_c_interrupts_the_program(tmp_path):
    code = (
        "\ntry: print('rea' + 'dy', flush=True); wait()\nexcept BaseException: print('caught'); sys.exit(7)"
    )
    terminal = Terminal(tmp_path, "record", "--live", "--", *python(WAITS + code))
    terminal.waits(b"ready")
    terminal.types(b"\x03")
    assert terminal.ends() == 7
    assert b"caught" in terminal.seen.rpartition(LEAVES)[2]


def test_sigterm_ends_the_program_and_restores_the_terminal(tmp_path):
    terminal = Terminal(tmp_path, "record", "--live", "--", "sleep", "60")
    terminal.waits(b"Most bytes in use")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 128 + signal.SIGTERM
    assert LEAVES in terminal.seen
    assert b"was ended by SIGTERM" in terminal.seen.rpartition(LEAVES)[2]


def test_in_the_view_a_signal_begins_the_recording_and_others_reach_the_program(tmp_path):
    code = """
import signal
seen = []
def count(*_):
    seen.append(0)
    print("sig" + "nal", len(seen), flush=True)
signal.signal(signal.SIGUSR2, count)
print("rea" + "dy", flush=True)
signal.pause()
kept = [bytes(4000) for _ in range(5000)]
wait()
"""
    words = ["record", "--live", "--start-at", "signal:USR1", "-o", "x.reap", "--"]
    terminal = Terminal(tmp_path, *words, *python(WAITS + code))
    terminal.waits(b"ready")
    os.kill(terminal.pid, signal.SIGUSR1)
    os.kill(terminal.pid, signal.SIGUSR2)
    terminal.waits(b"signal 1")
    terminal.types(b"q")
    terminal.waits(LEAVES)
    os.kill(terminal.pid, signal.SIGUSR2)
    terminal.waits(b"signal 2")
    (tmp_path / "go").touch()
    assert terminal.ends() == 0
    assert b"note: " not in terminal.seen.rpartition(LEAVES)[2]
    assert read.read(tmp_path / "x.reap").header().start == ("", signal.SIGUSR1)


def test_after_q_sigterm_ends_the_program(tmp_path):
    code = "print('before', flush=True); time.sleep(60)"
    terminal = Terminal(tmp_path, "record", "--live", "-o", "x.reap", "--", *python(WAITS + code))
    terminal.waits(b"Most bytes in use")
    terminal.types(b"q")
    terminal.waits(LEAVES)
    terminal.waits(b"before\r\n")
    os.kill(terminal.pid, signal.SIGTERM)
    assert terminal.ends() == 128 + signal.SIGTERM
    assert b"was ended by SIGTERM" in terminal.seen
    assert terminal.seen.endswith(b"the recording: x.reap\r\nnext: reap show x.reap\r\n")


def test_totals_that_cannot_be_read_are_reported_and_the_outcome_stays(monkeypatch, capsys):
    def fails(_watched) -> None:
        raise ReapError("the recording x cannot be read")

    monkeypatch.setattr(steps, "_printed", lambda *_: ("outcome", None))
    monkeypatch.setattr(steps.view, "has_terminal", lambda: False)
    monkeypatch.setattr(steps.view, "say_last", fails)
    assert steps.watch(None, None, Path("x")) == "outcome"
    assert capsys.readouterr().err == "reap: the recording x cannot be read\n"
