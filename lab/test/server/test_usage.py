"""Accounting of a process tree: everything of the server's processes, and nothing of anybody else's."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise

import pytest

from reap.launch.process import smaps
from reap.server.usage import Usage, usage

pytestmark = pytest.mark.timed

SPIN = """
import os, sys, threading, time
def spin(ns, clock=time.CLOCK_THREAD_CPUTIME_ID):
    end = time.clock_gettime_ns(clock) + ns
    while time.clock_gettime_ns(clock) < end: pass
"""
QUARTER = "250_000_000"


@contextmanager
def parent_of(script: str) -> Iterator[tuple[int, Usage, Usage]]:
    """A process whose child does what the script says between two lines; usage before and after it."""
    child = f"{SPIN}\nprint(flush=True); input()\n{script}\nprint(flush=True); input()"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as root:
        try:
            root.stdout.readline()
            before = usage(root.pid)
            print(file=root.stdin, flush=True)
            root.stdout.readline()
            yield root.pid, before, usage(root.pid)
            print(file=root.stdin, flush=True)
            root.wait(10)
        finally:
            for pid in smaps.descendants(root.pid):
                os.kill(pid, 9)
            root.kill()


@pytest.mark.parametrize(
    "script",
    [
        f"spin({QUARTER})",
        f"t = threading.Thread(target=spin, args=({QUARTER},)); t.start(); t.join()",
        f"pid = os.fork()\nif pid == 0: spin({QUARTER}); os._exit(0)\nos.waitpid(pid, 0)",
    ],
    ids=["its own", "of a thread that ended", "of a child that ended"],
)
def test_cpu_time_between_two_readings(script: str) -> None:
    with parent_of(script) as (_, before, after):
        assert 0.2e9 < after.cpu_ns - before.cpu_ns < 0.4e9


def test_no_cost_is_lost_while_processes_end() -> None:
    """Each process that ends is either read itself or with those that its parent has waited for."""
    once = "    pid = os.fork()\n    if pid == 0: spin(10_000_000); os._exit(0)\n    os.waitpid(pid, 0)"
    script = f"{SPIN}\nfor _ in range(60):\n{once}"
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {script!r}])"
    with subprocess.Popen([sys.executable, "-c", code]) as root:
        readings = []
        while root.poll() is None:
            readings.append(usage(root.pid).cpu_ns)
            time.sleep(0.001)
    readings = readings[:-5]  # the last ones may be of a tree that is gone
    ticks = 2e7  # of user and of system time
    assert max(readings) > 0.4e9
    assert all(later > earlier - ticks for earlier, later in pairwise(readings))


def test_cpu_time_of_others_does_not_count() -> None:
    with parent_of("time.sleep(0.3)") as (root, before, _):
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        assert usage(root).cpu_ns - before.cpu_ns < 0.1e9


def test_memory_and_faults() -> None:
    with parent_of("block = b'x' * (32 << 20)") as (_, before, after):
        assert 30 << 20 < after.resident - before.resident < 40 << 20
        assert after.minor_faults > before.minor_faults
        assert after.processes == 1


def test_a_process_that_is_not_there() -> None:
    assert usage(2**22 + 1) == Usage(cpu_ns=0, minor_faults=0, major_faults=0, resident=0, processes=0)
