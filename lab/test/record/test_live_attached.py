"""`reap record --live --pid`: a process that runs already is watched, and goes on undisturbed."""

import os
import re
import signal
import statistics
import subprocess
import sys
import time

import pytest
from lab.test.record.outside import NEEDS_UPROBES, recorded, running
from programs import as_nobody, reap, reap_command
from terminals import Terminal

from reap.base import units
from reap.base.errors import ExitCode
from reap.record.command import record
from reap.record.run import Attached
from reap.recording.attach import FOREVER
from reap.show.live.run import Watched

pytestmark = NEEDS_UPROBES

LINE = re.compile(
    rf"^ +[\d.]+ s  ~([\d.]+|\d\s\d+) (k )?allocations/s  ~\S+ [KM]iB/s  live {units.UNKNOWN}  "
    r"resident .* MiB  most bytes: grow",
    re.MULTILINE,
)


@pytest.mark.timed
def test_its_rates_sites_and_resident_memory_are_shown(tmp_path):
    with running(pause=1000, work=0) as held:
        words = ["record", "--live", "--pid", str(held.pid), "--seconds", "6", "-o", "x.reap"]
        done = reap(*words, cwd=tmp_path)
        assert held.end() == 7
    seen = recorded(done, tmp_path / "x.reap")
    assert done.returncode == 0, done.stderr
    rates = [
        float(re.sub(r"\s", "", rate)) * (1000 if kilo else 1) for rate, kilo in LINE.findall(done.stderr)
    ]
    assert len(rates) >= 2, done.stderr
    # Six allocations a round.
    assert statistics.median(rates) == pytest.approx(6 * held.rounds / held.seconds, rel=0.6)
    assert re.search(
        rf"; at most {units.UNKNOWN} live, .* resident \(by uprobes, all estimated from", done.stderr
    )
    assert "each call that met a probe cost the process" in done.stderr
    assert done.stderr.endswith("the recording: x.reap\nnext: reap show x.reap\n")
    assert seen.totals.total_objects > 100


def test_ctrl_c_ends_the_watching_alone_and_the_recording_is_kept(tmp_path):
    with running(pause=1000, work=0) as held:
        words = [*reap_command(), "record", "--live", "--pid", str(held.pid)]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as watching:
            first = watching.stderr.readline()
            if "refused" in first:
                pytest.skip("this container has no right to uprobes")
            watching.send_signal(signal.SIGINT)
            _, rest = watching.communicate(timeout=30)
        assert held.end() == 7
    assert watching.returncode == 0, rest
    assert "allocations/s" in first
    (file,) = tmp_path.iterdir()
    assert rest.endswith(f"the recording: {file.name}\nnext: reap show {file.name}\n")


def test_q_in_the_view_ends_the_watching_alone(tmp_path):
    with running(pause=1000, work=0) as held:
        terminal = Terminal(tmp_path, "record", "--live", "--pid", str(held.pid), "-o", "x.reap")
        terminal.waits(b"uprobes")
        if b"refused" in terminal.seen:
            pytest.skip("this container has no right to uprobes")
        terminal.types(b"q")
        assert terminal.ends() == 0
        assert held.end() == 7
    assert terminal.seen.endswith(b"the recording: x.reap\r\nnext: reap show x.reap\r\n")


def test_it_ends_with_the_process(tmp_path):
    with running(pause=1000, work=0, seconds=60) as held:
        with Attached(held.pid, FOREVER, tmp_path / "x.reap", {}) as process:
            watched = Watched(tmp_path / "x.reap")
            deadline = time.monotonic() + 30
            resident = 0
            while not (moment := watched.look(ended=process.ended)).over and time.monotonic() < deadline:
                resident = max(resident, moment.resident)
                if moment.allocations > 100:
                    held.process.terminate()
                time.sleep(0.1)
        assert moment.over
        assert process.outcome().ended
        assert held.process.wait() == 7
    assert moment.depth == "attached"
    assert moment.allocations > 100
    assert moment.live_bytes == 0
    by_printf = {"main"}  # its buffer, where the last window has it
    names = {"take_small", "take_large", "grow", "start"} | by_printf
    assert {site.function for site in moment.large_sites} <= names
    assert resident > 1 << 19
    assert moment.peak_resident >= resident


@pytest.mark.parametrize(("words", "seconds"), [((), FOREVER), (("--seconds", "3"), 3.0)])
def test_without_seconds_it_lasts_until_the_process_ends(monkeypatch, words, seconds):
    asked = []
    monkeypatch.setattr("reap.record.steps.watch_attached", lambda *given: asked.append(given))
    record.main(["--live", "--pid", "1", "--max-cpu", "2%", *words], standalone_mode=False)
    ((pid, most, output, options),) = asked
    assert (pid, most, output) == (1, seconds, None)
    assert options["most_overhead"] == 0.02


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("--pid", "999999999"), ExitCode.NOT_FOUND, "there is no process 999999999"),
        (("--pid", "1", "-d", "full"), ExitCode.USAGE, "depth must not be used with --pid"),
        (("--pid", "1", "--timeout", "2"), ExitCode.USAGE, "timeout must not be used with --pid"),
        (("--pid", "1", "--", "true"), ExitCode.USAGE, "CMD must not be used with --pid"),
        (("--pid", "0"), ExitCode.USAGE, "0"),
    ],
)
def test_what_cannot_be_watched_is_said(tmp_path, words, status, said):
    done = reap("record", "--live", *words, cwd=tmp_path)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_without_rights_it_says_what_to_do():
    if as_nobody(lambda: str(os.access(sys.executable, os.X_OK))) != "True":
        pytest.skip("an unprivileged user may not enter this checkout's folder")
    with running(pause=1000, work=0) as held:
        words = [*reap_command(), "record", "--live", "--pid", str(held.pid)]

        def action():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            return f"{done.stderr}\n{done.returncode}"

        said = as_nobody(action)
    assert said.endswith(f"\n{int(ExitCode.NOT_EXECUTABLE)}"), said
    assert f"sudo reap record --live --pid {held.pid}" in said
