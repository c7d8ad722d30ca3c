"""A process that runs already is recorded from outside of it, and goes on as if nothing had been."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from lab.test.record.outside import NEEDS_UPROBES, crowded, recorded, running, target
from programs import as_nobody, reap, reap_command

from reap.base.errors import ExitCode
from reap.recording import read

pytestmark = NEEDS_UPROBES


def attached(folder, pid, seconds, name="a.reap", *options):
    words = ["--pid", str(pid), "--seconds", str(seconds), "-o", name, *options]
    return recorded(reap("record", *words, cwd=folder), folder / name)


def breakpoints(pid):
    """How many of the functions of its C library begin with a breakpoint in a process."""
    maps = Path(f"/proc/{pid}/maps").read_text()
    first = next(line for line in maps.splitlines() if "libc.so" in line)
    base, path = int(first.split("-")[0], 16), first.split()[-1]
    symbols = subprocess.run(["nm", "-D", path], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^(\w+) \w (?:malloc|calloc|realloc|free|memalign)@", symbols, re.MULTILINE)
    assert len(found) >= 4
    count = 0
    with Path(f"/proc/{pid}/mem").open("rb", 0) as memory:
        for address in found:
            memory.seek(base + int(address, 16))
            code = memory.read(16)
            with Path(path).open("rb") as file:
                file.seek(int(address, 16))
                count += code != file.read(16)
    return count


def cpu_time(pid):
    return time.clock_gettime_ns((~pid << 3) | 2) / 1e9  # as clock_getcpuclockid makes it


def seconds_for(pid, cpu):
    """How long the process has to be watched to get so much CPU time beside all others, in seconds."""
    begin, used = time.monotonic(), cpu_time(pid)
    time.sleep(1)
    share = (cpu_time(pid) - used) / (time.monotonic() - begin)
    return min(cpu / max(share, 0.01), 40)


@pytest.mark.timed
def test_sites_sizes_and_rates_of_a_process_with_time_to_spare(tmp_path):
    with running(pause=2000, work=0) as held:
        seen = attached(tmp_path, held.pid, 4)
        assert held.end() == 7
    sites = {site.function: site for site in seen.sites}
    assert {"take_small", "take_large", "grow", "start"} <= set(sites)
    for name, size in {"take_small": 100, "take_large": 5000, "grow": 8000, "start": 77}.items():
        assert sites[name].bytes == pytest.approx(sites[name].objects * size)
    assert sites["take_small"].location.startswith("record/attached.c:")
    assert "make_round" in sites["take_small"].stack[1]
    # Of each round: three small blocks, one large that grows, one that realloc takes from malloc.
    large = sites["take_large"].objects
    assert sites["take_small"].objects == pytest.approx(3 * large, rel=0.2)
    assert sites["grow"].objects == pytest.approx(large, rel=0.05)
    assert sites["start"].objects == pytest.approx(large, rel=0.4)
    assert seen.calls["calloc"] == pytest.approx(seen.calls["realloc"], rel=0.05)
    assert seen.calls["malloc"] == pytest.approx(4 * seen.calls["calloc"], rel=0.05)
    assert seen.calls["free"] == pytest.approx(5 * seen.calls["calloc"], rel=0.05)  # not of null pointers
    # While reap itself starts on a core that is shared, there are fewer rounds.
    rate = seen.calls["calloc"] / seen.seconds
    assert 0.65 * held.rounds / held.seconds < rate < 1.2 * 1e6 / 2000
    assert seen.calls["calloc"] < 1.2 * held.rounds
    assert seen.seconds == pytest.approx(4, abs=0.5)
    assert seen.attached.broken == 0
    assert not seen.lifetimes
    assert not seen.live
    assert seen.totals.max_bytes.value == 0


@pytest.mark.timed
def test_a_busy_process_is_hardly_slowed_and_its_rate_is_that_of_its_own_time(tmp_path):
    with running(pause=0, work=100_000) as held:
        seen = attached(tmp_path, held.pid, 5)
        assert held.end() == 7
    # Its own CPU time may be shared with other processes, so that the rates are compared loosely.
    assert seen.calls["calloc"] / seen.seconds == pytest.approx(held.rounds / held.seconds, rel=0.6)
    assert 0 < seen.attached.share <= 1  # 1 where a call costs so little that windows need no gaps
    assert seen.attached.overhead < 0.2
    assert seen.attached.calls > 100


@pytest.mark.timed
@pytest.mark.parametrize("probes", ["links", "events"])
def test_what_it_costs_the_process_is_what_is_said(tmp_path, monkeypatch, probes):
    """Events were removed one after another, and met uncounted: 2 % was said where it was 13 %."""
    monkeypatch.setenv("REAP_PROBES", probes)

    def rounds_a_second(watch):
        with running(pause=0, work=3000) as held:
            seen = watch(held)
            cpu = cpu_time(held.pid)
            assert held.end() == 7
        return held.rounds / cpu, seen

    alone, _ = rounds_a_second(lambda _: time.sleep(3))
    watched, seen = rounds_a_second(lambda held: attached(tmp_path, held.pid, 6))
    assert seen.attached.overhead < 0.15
    assert 1 - watched / alone < 2 * seen.attached.overhead + 0.04


def test_the_file_ends_at_its_limit_and_counters_go_on(tmp_path):
    with running(pause=0, work=20_000) as held:
        seen = attached(tmp_path, held.pid, 2, "a.reap", "--max-size", "128K", "--label", "service=shop")
        assert held.end() == 7
    # The header, definitions, and counters: nothing is left for stacks. Names come on top when it ends.
    assert (tmp_path / "a.reap").stat().st_size <= 4 << 16
    assert any("the file reached --max-size" in note for note in seen.notes), seen.notes
    assert seen.totals.total_objects > 100
    assert seen.sites == []
    assert seen.labels == {"service": "shop"}


def paid(seen):
    """The overhead, without that of a window: the last may still have to be paid for."""
    return seen.attached.overhead * (seen.attached.windows - 1) / seen.attached.windows


@pytest.mark.timed
def test_a_lower_limit_of_cpu_time_is_kept(tmp_path):
    with running(pause=0, work=1000, seconds=120) as held:
        seconds = seconds_for(held.pid, 4)
        more = attached(tmp_path, held.pid, seconds, "a.reap", "--max-cpu", "20%")
        less = attached(tmp_path, held.pid, seconds, "b.reap", "--max-cpu", "2%")
        assert held.end() == 7
    assert paid(less) < 0.02 * PRECISION
    assert paid(more) < 0.2 * PRECISION
    assert less.attached.share < more.attached.share


PRECISION = 1.3
"""By how much a limit may be exceeded: windows cost more or less than those before them."""


@pytest.mark.timed
def test_a_limit_is_kept_beside_busy_processes(tmp_path):
    """A process that waits for a core does not sleep: 1 % of the core were 5 % of the time that it gets."""
    with running(pause=0, work=1000, seconds=120) as held, crowded(held.pid, 4):
        seconds = seconds_for(held.pid, 1.5)
        seen = attached(tmp_path, held.pid, seconds, "a.reap", "--max-cpu", "2%")
        assert held.end() == 7
    assert paid(seen) < 0.02 * PRECISION
    assert seen.attached.share <= 1
    assert seen.attached.calls > 100


OLDER_KERNEL = Path(__file__).resolve().parents[3] / "setup" / "conditions" / "older_kernel.py"


def test_a_kernel_without_close_range(tmp_path, monkeypatch):
    """Processes that hold the probes kept one another's pipes open, and waited for ever."""
    monkeypatch.setenv("REAP_PROBES", "events")
    with running(pause=2000, work=0) as held:
        words = ["record", "--pid", str(held.pid), "--seconds", "0.5", "-o", "a.reap"]
        command = [sys.executable, OLDER_KERNEL, *reap_command(), *words]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=100)
        assert recorded(done, tmp_path / "a.reap").totals.total_objects > 0
        assert held.end() == 7


def test_windows_are_never_longer_than_the_time_that_is_watched(tmp_path):
    """The last ends when it is noticed that the time is over, and was counted beyond that."""
    with running(pause=2000, work=0) as held:
        attached(tmp_path, held.pid, 0.5)
        assert held.end() == 7
    header = read.read(tmp_path / "a.reap").header().attach
    assert 0 < header.window_ns <= header.watched_ns
    assert header.window_cpu_ns <= header.watched_cpu_ns


def left_alone(pid):
    """Whether no breakpoint is left in a process. Removing takes the kernel a moment."""
    deadline = time.monotonic() + 60
    while breakpoints(pid) > 0 and time.monotonic() < deadline:
        time.sleep(0.1)
    return breakpoints(pid) == 0


def are_set(pid):
    """Whether breakpoints come to be in a process. One look is enough: they are there in windows of time."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if breakpoints(pid) > 0:
            return True
        time.sleep(0.01)
    return False


def test_nothing_is_left_in_the_process(tmp_path):
    with running(pause=500, work=0) as held:
        attached(tmp_path, held.pid, 0.5)
        assert breakpoints(held.pid) == 0
        assert held.end() == 7


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 0), (signal.SIGKILL, -signal.SIGKILL)])
def test_nothing_is_left_when_reap_is_ended(tmp_path, number, status):
    with running(pause=500, work=0) as held:
        words = ["record", "--pid", str(held.pid), "--seconds", "60", "-o", "k.reap"]
        with subprocess.Popen([*reap_command(), *words], cwd=tmp_path, stderr=subprocess.DEVNULL) as watching:
            assert are_set(held.pid)
            time.sleep(2.5)  # the file is written once a second
            watching.send_signal(number)
            assert watching.wait(30) == status
        assert left_alone(held.pid)
        recording = read.read(tmp_path / "k.reap")
        assert not recording.damage()
        assert sum(image.objects for image in recording.images()) > 0
        assert recording.header().finished == (number == signal.SIGINT)
        assert held.end() == 7


def test_a_process_that_ends_meanwhile(tmp_path):
    with running(pause=1000, work=0, seconds=60) as held:
        words = [*reap_command(), "record", "--pid", str(held.pid), "--seconds", "600", "-o", "e.reap"]
        with subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as recording:
            while recording.poll() is None and not (tmp_path / "e.reap").exists():
                time.sleep(0.05)
            held.process.terminate()
            _, said = recording.communicate(timeout=60)
        assert recording.returncode == 0, said
        assert f"process {held.pid} ended while it was watched" in said
        assert held.process.wait() == 7
    assert read.read(tmp_path / "e.reap").header().finished


def test_children_are_watched_too(tmp_path):
    words = [target("children.c"), "4"]
    with subprocess.Popen(words) as process:
        time.sleep(0.3)
        seen = attached(tmp_path, process.pid, 3)
        assert process.wait() == 0
    assert {"take_first", "take_copied", "take_executed"} <= {site.function for site in seen.sites}
    first, *others = read.read(tmp_path / "a.reap").images()
    assert first.pid == process.pid
    assert [(each.ppid, each.parent) for each in others] == [(process.pid, first.image)] * 2
    assert min(each.objects for each in (first, *others)) > 500


def test_a_static_program_with_symbols(tmp_path):
    with running(pause=1000, work=0, path=target("attached.c", "-static")) as held:
        seen = attached(tmp_path, held.pid, 1)
    assert "take_small" in {site.function for site in seen.sites}
    assert seen.calls["malloc"] == pytest.approx(4 * seen.calls["calloc"], rel=0.1)


def test_what_it_says_and_shows(tmp_path):
    with running(pause=1000, work=0) as held:
        done = reap("record", "--pid", str(held.pid), "--seconds", "0.5", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "each call that met a probe cost the process" in done.stderr
        assert "of its CPU time" in done.stderr
        assert "next: reap show attached.reap" in done.stderr
    done = reap("show", "attached.reap", "--json", "s.json", "--html", "s.html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "of a running process: all figures from" in done.stdout
    assert "not known: blocks may be older than the recording" in done.stdout
    assert "Most bytes in use" not in done.stdout
    assert "temp." not in done.stdout
    assert json.loads((tmp_path / "s.json").read_text())["answers"][0]["profile"]["attached"]["windows"] > 0
    page = (tmp_path / "s.html").read_text()
    assert "Recorded from a running process" in page
    assert "Live at peak" not in page
    for words in (
        ["diff", "attached.reap", "attached.reap"],
        ["export", "--to", "collapsed", "--of", "peak", "attached.reap"],
        ["export", "--to", "parquet", "attached.reap"],
    ):
        done = reap(*words, cwd=tmp_path)
        assert done.returncode == ExitCode.USAGE
        assert "attached.reap was recorded from outside" in done.stderr
    assert reap("export", "--to", "collapsed", "attached.reap", cwd=tmp_path).returncode == 0


def test_a_process_that_calls_nothing(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as held:
        try:
            done = reap("record", "--pid", str(held.pid), "--seconds", "0.3", cwd=tmp_path)
        finally:
            held.kill()
    assert done.returncode == 0, done.stderr
    assert "no call met a probe; the probes cost 0 % of its CPU time" in done.stderr


def test_no_such_process(tmp_path):
    done = reap("record", "--pid", "4194000", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_FOUND
    assert "there is no process 4194000" in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_program_without_symbols(tmp_path):
    bare = tmp_path / "bare"
    source = Path(target("attached.c", "-static"))
    subprocess.run(["strip", "-o", bare, source], check=True)
    with running(pause=1000, work=0, path=str(bare)) as held:
        done = reap("record", "--pid", str(held.pid), "-o", "b.reap", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_EXECUTABLE
    assert "no allocation function was found" in done.stderr
    assert "reap record -- " in done.stderr
    assert not (tmp_path / "b.reap").exists()


def test_another_users_process_is_refused(tmp_path):
    if as_nobody(lambda: str(os.access(sys.executable, os.X_OK))) != "True":
        pytest.skip("an unprivileged user may not enter this checkout's folder")
    tmp_path.chmod(0o777)
    with running(pause=1000, work=0) as held:
        words = [*reap_command(), "record", "--pid", str(held.pid), "-o", str(tmp_path / "o.reap")]

        def action():
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            return f"{done.stderr}\n{done.returncode}"

        said = as_nobody(action)
    assert said.endswith(f"\n{int(ExitCode.NOT_EXECUTABLE)}"), said
    assert "it belongs to another user" in said
    assert f"sudo reap record --pid {held.pid}" in said
    assert not (tmp_path / "o.reap").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--pid", "1", "--", "true"], "CMD must not be used with --pid"),
        (["--pid", "1", "--depth", "full"], "--depth must not be used with --pid"),
        (["--seconds", "3", "--", "true"], "--seconds requires --pid"),
        (["--pid", "0"], "--pid"),
    ],
)
def test_options_that_do_not_go_together(tmp_path, words, message):
    done = reap("record", *words, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE, done.stderr
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


def test_defaults_of_a_configuration_are_for_whom_they_concern(tmp_path):
    """They are not options that were written beside --pid, or without it."""
    (tmp_path / "reap.toml").write_text('[record]\ndepth = "full"\ncompress = true\nseconds = 3\n')
    assert reap("record", "-o", "x.reap", "--", "true", cwd=tmp_path).returncode == 0
    done = reap("record", "--pid", "4194305", cwd=tmp_path)
    assert done.returncode == ExitCode.NOT_FOUND, done.stderr


def test_a_file_that_exists_is_kept(tmp_path):
    (tmp_path / "x.reap").write_text("mine")
    with running(pause=1000, work=0) as held:
        done = reap("record", "--pid", str(held.pid), "-o", "x.reap", cwd=tmp_path)
    assert done.returncode == ExitCode.INTERNAL
    assert "x.reap exists already" in done.stderr
    assert (tmp_path / "x.reap").read_text() == "mine"


def test_reasons_for_a_refusal_name_the_right_that_is_missing():
    from types import SimpleNamespace

    from reap.recording import attach

    for step, number, said in (
        ("perf", errno.EACCES, "CAP_PERFMON"),
        ("bpf", errno.EPERM, "CAP_BPF"),
        ("uprobes", 0, "the kernel has no uprobes"),
        ("bpf", errno.EINVAL, "does not take the program"),
        ("perf", errno.ENOENT, "does not set a probe"),
    ):
        outcome = SimpleNamespace(failed_step=step, errno=number, detail="")
        refused = attach._refused("process 7", "reap record --pid 7", "restart it", outcome)
        assert said in refused.what
        assert refused.hint.endswith("restart it")
        assert refused.code == ExitCode.NOT_EXECUTABLE
