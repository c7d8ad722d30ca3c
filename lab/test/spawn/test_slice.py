"""Programs that share a core run for longer at a time, and are scheduled as before otherwise."""

import os
import sys

import pytest

from reap.launch import spawn
from reap.launch.records import Launch

pytestmark = pytest.mark.bare

SHOW = """
import ctypes, platform, struct
number = {"x86_64": 315, "aarch64": 275}[platform.machine()]
attributes = ctypes.create_string_buffer(48)
assert ctypes.CDLL(None).syscall(number, 0, attributes, 48, 0) == 0
_, policy, _, nice, _, slice_ns, _, _ = struct.unpack("IIQiIQQQ", attributes)
print(policy, nice, slice_ns)
"""
SLICE = 12_000_000
"""Nanoseconds."""


def seen(tmp_path, core, begin=""):
    """Policy, niceness and slice of a program that a program on a core, or on any, has started."""
    (tmp_path / "show.py").write_text(SHOW)
    words = f"{begin} {sys.executable} {tmp_path}/show.py"
    launch = Launch(argv=["sh", "-c", f"{words}; true"], program="/bin/sh", keep=str(tmp_path / "output"))
    assert spawn.run(spawn.pinned(launch, core)).status == 0
    return tuple(map(int, (tmp_path / "output").read_text().split()[-3:]))


def test_a_program_on_one_core_has_long_slices(tmp_path):
    core = min(os.sched_getaffinity(0))
    policy, nice, usual = seen(tmp_path, None)
    # A kernel before Linux 6.12 tells none and has none.
    assert seen(tmp_path, core) == (policy, nice, SLICE if usual else 0)
    assert usual != SLICE


def test_it_keeps_its_niceness_and_another_policy(tmp_path):
    core = min(os.sched_getaffinity(0))
    _, nice, usual = seen(tmp_path, None)
    assert seen(tmp_path, core, "nice -n 3")[1:] == (nice + 3, SLICE if usual else 0)
    assert seen(tmp_path, core, "chrt --batch 0")[0] == os.SCHED_BATCH
