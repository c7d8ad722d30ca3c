"""`reap wall --pid`: processes that run already are watched, and nothing enters them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from causes import cause_program
from lab.test.evidence.measuring import PERF, measured, needs_perf
from programs import reap, reap_command

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.base.errors import ReapError
from reap.evidence import run as experiment
from reap.recording import watch


@pytest.mark.timed
@needs_perf
def test_a_running_process_is_watched_and_nothing_enters_it(tmp_path):
    with subprocess.Popen([cause_program(), "brk", "100"], stdout=subprocess.DEVNULL) as process:
        try:
            time.sleep(0.1)
            words = ["--pid", str(process.pid), "--seconds", "0.5", "-o", "seen", "--json", "x.json"]
            done = reap("wall", *words, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            assert "libreap" not in Path(f"/proc/{process.pid}/maps").read_text()
        finally:
            process.kill()
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    wall = answer["wall"]
    assert wall["pid"] == process.pid
    assert wall["command"] == [cause_program(), "brk", "100"]
    # Where the kernel is not sampled, what it does for the allocator is not seen.
    assert wall["share"]["share"]["value"] > (0.3 if PERF.kernel else 0.03)
    assert wall["faults"]["minor"] > 1000
    assert wall["resident"]["end"] > 0
    assert wall["counted"] is None


@pytest.mark.timed
@needs_perf
def test_pid_share_of_jemalloc_all_of_its_file_is_the_allocator(tmp_path):
    """Few of its functions are exported, and a stripped file names no others."""
    jemalloc = catalog.find("jemalloc")
    if not isinstance(jemalloc, Allocator):
        pytest.skip("needs libjemalloc2")
    preload = {"LD_PRELOAD": jemalloc.library}
    whole = measured(tmp_path, cause_program(), "tcache", "0.2", environment=preload).wall
    with subprocess.Popen(
        [cause_program(), "tcache", "100"], stdout=subprocess.DEVNULL, env={**os.environ, **preload}
    ) as process:
        try:
            (tmp_path / "running").mkdir()
            wall = experiment.watch_running(process.pid, 0.7, tmp_path / "running", lambda _: None).wall
        finally:
            process.kill()
    assert wall.allocator == "jemalloc"
    assert wall.share.share.high > whole.share.share.low
    assert wall.share.share.value > 0.7 * whole.share.share.value


_MASTER = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'while True: pass'])"


@pytest.mark.timed
def test_pid_children_unseen_workers_that_exist_already_are_watched(tmp_path):
    with subprocess.Popen([sys.executable, "-c", _MASTER], start_new_session=True) as master:
        try:
            children = Path(f"/proc/{master.pid}/task/{master.pid}/children")
            end = time.monotonic() + 20
            while not children.read_text() and time.monotonic() < end:
                time.sleep(0.01)
            worker = int(children.read_text())
            before = processor_ticks(worker)
            words = ["--pid", str(master.pid), "--seconds", "1", "-o", "seen", "--json", "x.json"]
            done = reap("wall", *words, cwd=tmp_path)
            used = (processor_ticks(worker) - before) / os.sysconf("SC_CLK_TCK")
            assert done.returncode == 0, done.stderr
        finally:
            os.killpg(master.pid, signal.SIGKILL)
    wall = json.loads((tmp_path / "x.json").read_text())["answers"][0]["wall"]
    # What the worker used while the command itself started and ended is in `used` alone.
    assert 0.1 * used < wall["cpu_seconds"] <= used + 0.03
    assert wall["share"]["samples"] > 100 * wall["cpu_seconds"]


def processor_ticks(process):
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


_THREADS = (
    "import threading as t, time\nfor _ in range(40): t.Thread(target=time.sleep, args=(60,)).start()\n"
)


@pytest.mark.timed
@needs_perf
@pytest.mark.parametrize(("most", "whole"), [(4096, True), (80, False)])
def test_of_more_threads_than_descriptors_the_first_are_watched(tmp_path, most, whole):
    with subprocess.Popen([sys.executable, "-c", f"{_THREADS}while True: pass"]) as process:
        try:
            while len(list(Path(f"/proc/{process.pid}/task").iterdir())) < 41:
                time.sleep(0.02)
            for seconds in ("0.5", "5", "30"):  # until the busy one had enough of a processor
                words = [*reap_command(), "wall", "--pid", str(process.pid), "--seconds", seconds]
                limited = ["prlimit", f"--nofile=80:{most}", *words, "--force", "-o", "seen"]
                subprocess.run(limited, cwd=tmp_path, check=True, capture_output=True)
                (answer,) = json.loads((tmp_path / "seen/wall.json").read_text())["answers"]
                wall = answer["wall"]
                if wall["share"] is not None and wall["share"]["samples"] > 10:
                    break
        finally:
            process.kill()
    assert wall["share"]["samples"] > 10
    assert wall["waiting"]["other"] > 1  # there were descriptors left to look at threads with
    assert any("more threads than could be watched" in note for note in wall["notes"]) is not whole


def wait_until_watched(ours, folder):
    """Until `reap wall`, run in `folder`, has its launcher at work."""
    trace = folder / "seen/sampled.reap"
    while ours.poll() is None and not trace.exists():
        time.sleep(0.01)
    created = trace.stat().st_blocks  # its size says nothing while it is made
    while ours.poll() is None and trace.stat().st_blocks == created:
        time.sleep(0.01)


@pytest.mark.timed
def test_a_process_that_ends_meanwhile_is_told_of(tmp_path):
    with subprocess.Popen(["sleep", "100"]) as process:
        words = [*reap_command(), "wall", "--pid", str(process.pid), "--seconds", "60", "-o", "seen"]
        with subprocess.Popen(
            words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as ours:
            wait_until_watched(ours, tmp_path)
            process.kill()
            said, wrong = ours.communicate(timeout=60)
    assert ours.returncode == 0, wrong
    assert "ended while it was watched" in " ".join(said.split())


def test_a_process_that_has_ended_already_is_no_question_of_rights(tmp_path):
    process = subprocess.Popen(["true"])
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # a zombie: /proc still shows it
        with pytest.raises(ReapError) as caught:
            watch.running(process.pid, 1.0, tmp_path / "x.reap")
    finally:
        process.wait()
    assert "it has ended" in str(caught.value.hint)


@pytest.mark.timed
def test_interrupting_the_watching_leaves_the_process_alone(tmp_path):
    with subprocess.Popen(["sleep", "100"]) as process:
        try:
            words = [*reap_command(), "wall", "--pid", str(process.pid), "--seconds", "60", "-o", "seen"]
            with subprocess.Popen(
                words, cwd=tmp_path, stderr=subprocess.PIPE, stdout=subprocess.PIPE
            ) as ours:
                assert ours.stderr is not None
                ours.stderr.readline()
                wait_until_watched(ours, tmp_path)
                ours.send_signal(signal.SIGINT)
                assert ours.wait(60) == 0, ours.stderr.read()
            assert process.poll() is None
        finally:
            process.kill()
    assert (tmp_path / "seen" / "wall.json").exists()
