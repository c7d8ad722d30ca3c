"""The walk over glibc's heaps: what it finds of programs with many threads, and what trimming returns."""

import contextlib
import json
import os
import re
import subprocess
import sys
import time

import pytest
from lab.test.rss.waiting import wait_for
from programs import reap
from recorded import target

from reap.launch import native_files
from reap.launch.process import smaps
from reap.launch.process.records import Moment
from reap.rss import file
from reap.rss.analyse import take_apart
from reap.rss.watch import Looks

MB = 1 << 20


def release():
    """The version of the kernel."""
    return tuple(int(each) for each in re.findall(r"\d+", os.uname().release)[:2])


@contextlib.contextmanager
def frees(mode, folder):
    """`trims` after it freed, under the preload, and what is known of it by a walk that came after that."""
    environment = {
        **os.environ,
        "LD_PRELOAD": str(native_files.preload("resident")),
        file.VARIABLE: f"20000:{folder}",
    }
    words = [target("rss/trims"), mode]
    with subprocess.Popen(
        words, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "freed\n"
        freed = time.monotonic_ns()
        path = folder / str(process.pid)

        def walked():
            said = file.read(path)
            return said is not None and said.walk is not None and said.walk.stamp - said.walk.duration > freed

        wait_for(walked)
        freed = time.monotonic_ns()  # one walk may have begun before; the next did not
        wait_for(walked)
        yield (
            process,
            take_apart(
                Moment(pid=process.pid, seconds=0, kernel=smaps.read(process.pid), said=file.read(path))
            ),
        )
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0


def trimmed(process):
    """Has `trims` call malloc_trim, and returns the resident bytes that are gone."""
    before = smaps.read(process.pid).resident
    process.stdin.write("\n")
    process.stdin.flush()
    assert process.stdout.readline() == "trimmed\n"
    return before - smaps.read(process.pid).resident


@pytest.mark.parametrize("mode", ["below", "fast", "pieces", "threads", "buffers", "caches", "none"])
def test_trim_returns_what_was_predicted(tmp_path, mode):
    with frees(mode, tmp_path) as (process, taken):
        assert taken.parts.heap + taken.parts.other < 0.02 * taken.resident + MB
        returned = trimmed(process)
        # What the allocator says of itself has not changed, and the heaps are walked again all the same.
        wait_for(lambda: file.read(tmp_path / str(process.pid)).others.whole_resident < MB)
    assert taken.heaps.trim == pytest.approx(returned, rel=0.1, abs=MB // 4)
    if mode != "buffers":  # glibc may have returned these by itself
        assert (taken.heaps.trim > 4 * MB) == (mode not in {"caches", "none"})


@contextlib.contextmanager
def frees_alone(mode):
    """`trims` after it freed, with nothing of ours in it, and what is seen of it from outside."""
    words = [target("rss/trims"), mode]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "freed\n"
        with contextlib.closing(Looks(1.0, None)) as looks:
            (moment,) = looks.at(0.0, [process.pid])
        yield process, take_apart(moment)
        process.stdin.close()
        process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize("mode", ["below", "fast", "pieces", "threads", "buffers", "caches", "none"])
def test_trim_of_a_process_that_runs_already_is_predicted(mode):
    with frees_alone(mode) as (process, taken):
        assert taken.said
        assert taken.parts.heap + taken.parts.other < 0.02 * taken.resident + MB
        returned = trimmed(process)
    assert taken.heaps.trim == pytest.approx(returned, rel=0.1, abs=MB // 4)


def test_a_walk_from_outside_finds_what_one_inside_finds(tmp_path):
    for mode in "threads", "caches", "callocs":
        with frees(mode, tmp_path) as (_, inside), frees_alone(mode) as (_, outside):
            pass
        for part in "live", "inside", "cached", "pinned", "held", "other":
            found = getattr(outside.parts, part)
            # Two runs, whose threads share heaps as it happens.
            assert found == pytest.approx(getattr(inside.parts, part), rel=0.2, abs=3 * MB), (mode, part)


FORKS = """
import os, time
rows = [bytes(700) for _ in range(100_000)]
last = rows[-1]
child = os.fork()
if not child:
    del rows
time.sleep(2)
if child:
    os.waitpid(child, 0)
"""


def test_what_a_forked_child_has_freed_is_seen(tmp_path):
    """It has no thread of ours, and its parent, which has one, has freed nothing."""
    done = reap("rss", "--json", "r.json", "-o", "rows", "--", sys.executable, "-c", FORKS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    processes = json.loads((tmp_path / "r.json").read_text())["processes"]
    assert len(processes) == 2
    levels = [
        (parts["live"], parts["pinned"] + parts["top"])
        for process in processes
        for parts in (moment["parts"] for moment in process["moments"])
        if parts["live"] + parts["pinned"] + parts["top"] > 50 * MB
    ]
    assert any(live > 60 * MB for live, _ in levels), "the parent's"
    assert any(free > 60 * MB > 3 * live for live, free in levels), "the child's"


def test_thread_caches_are_not_live(tmp_path):
    with frees("caches", tmp_path) as (_, taken):
        pass
    each = sum(7 * (size + 8) for size in range(24, 1033, 16))
    assert taken.heaps.caches >= 32
    assert taken.parts.cached == pytest.approx(32 * each, rel=0.02)
    assert taken.parts.live < MB


def test_what_was_not_touched_of_large_blocks_is_not_live(tmp_path):
    with frees("callocs", tmp_path) as (_, taken):
        pass
    if release() < (5, 9):
        pytest.skip("the list of mappings cannot be read before Linux 5.9")
    assert taken.parts.live == pytest.approx(40 * MB, rel=0.02)
    assert taken.parts.other == pytest.approx(60 * MB, abs=2 * MB)
