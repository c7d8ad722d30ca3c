"""What the tests of recording from outside share."""

import contextlib
import functools
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from building import OUT, compiled

from reap.recording import read
from reap.recording.analyse.profile import profile

UPROBES = Path("/sys/bus/event_source/devices/uprobe").exists() and os.geteuid() == 0

NEEDS_UPROBES = [
    pytest.mark.privileged,
    pytest.mark.skipif(not UPROBES, reason="needs root and a kernel with uprobes"),
]


@functools.cache
def target(source, *flags, compiler="gcc"):
    """A program with known sites, compiled with debug information."""
    path = Path(__file__).parent / source
    words = [compiler, "-g", "-O1", "-fno-builtin", "-w", *flags, path, "-o", OUT]
    return compiled(f"{path.stem}{compiler.removeprefix('gcc')}{''.join(flags)}", words)


def recorded(done, path):
    """The profile of what a run of `reap record` has written."""
    if "(bpf was refused)" in done.stderr or "(perf_event_open was refused)" in done.stderr:
        pytest.skip("this container has no right to uprobes")
    assert done.returncode == 0 or "the recording: " in done.stderr, done.stderr
    return profile(read.read(path), [])


@dataclass
class Running:
    """A program that allocates in rounds."""

    process: subprocess.Popen
    rounds: int = 0
    seconds: float = 0.0

    @property
    def pid(self) -> int:
        return self.process.pid

    def end(self):
        """Its own exit status, once it was asked to end and has said how much it did."""
        self.process.send_signal(signal.SIGTERM)
        said, _ = self.process.communicate(timeout=30)
        rounds, seconds = said.split()
        self.rounds, self.seconds = int(rounds), float(seconds)
        return self.process.returncode


@contextlib.contextmanager
def crowded(pid, count):
    """A process shares one core with so many that are busy, on any machine."""
    before = os.sched_getaffinity(pid)
    core = {max(before)}
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        for each in (pid, *(one.pid for one in busy)):
            os.sched_setaffinity(each, core)
        yield
    finally:
        for one in busy:
            one.kill()
            one.wait()
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(pid, before)


@contextlib.contextmanager
def running(pause, work, seconds=60, *, path=None):
    words = [path or target("attached.c"), str(pause), str(work), str(seconds)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    time.sleep(0.3)
    try:
        yield Running(process)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
