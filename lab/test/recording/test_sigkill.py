"""SIGKILL at random moments, of the program, of reap or of both: recordings open, and nothing is lost."""

import contextlib
import os
import random
import shutil
import signal
import struct
import subprocess
import time
from pathlib import Path

import pytest
from programs import reap_command
from recorded import target

from reap.recording import read, record

SIZES = range(2000, 2100)
"""Of the blocks that the program counts."""


def kill_at_random(folder, seed):
    """Records a program that counts its calls, and kills at a random moment; whether it had begun to run."""
    chance = random.Random(seed)
    folder.mkdir()
    threads, victim = chance.randint(1, 3), chance.choice(["program", "reap", "both"])
    depth = chance.choice(["full", "full", "triage"])
    counts, path = folder / "counts", folder / "k.reap"
    counts.write_bytes(bytes(16 * threads))
    options = ["-d", depth, "-o", path.name, *(["--compress"] if chance.random() < 0.3 else [])]
    command = [*reap_command(), "record", *options, "--", target("progress"), counts, str(threads)]
    process = subprocess.Popen(
        command, cwd=folder, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        if chance.random() < 0.8:  # else at any moment of the start
            wait_until(lambda: any(counts.read_bytes()) or process.poll() is not None)
        time.sleep(chance.random() ** 2 * 0.5)
        if victim == "program":
            kill_programs(process.pid)
            time.sleep(chance.random() * 0.05)
        if victim == "both":
            os.killpg(process.pid, signal.SIGKILL)
        elif victim == "reap":
            process.kill()
    finally:
        kill_programs(process.pid)
        if victim == "program":  # which may not have begun: then as soon as it does
            wait_until(lambda: kill_programs(process.pid) or process.poll() is not None)
        process.kill()
        process.wait()
        wait_until(lambda: not left(process.pid))
    said = struct.unpack(f"{2 * threads}Q", counts.read_bytes())
    check(path, depth, sum(said[::2]), sum(said[1::2]), threads)
    return any(said)


def check(path, depth, allocated, freed, threads):
    """A call is recorded before it returns, so a kill loses none; a few are recorded and not yet counted."""
    if not path.exists() or path.stat().st_size == 0:
        assert allocated == 0
        return
    for _ in range(2):  # as it was left, and closed
        recording = read.read(path)
        damage = recording.damage()
        assert (damage.corrupt, damage.foreign, damage.malformed, damage.truncated) == (0, 0, 0, 0), damage
        found = sum(objects for low, high, objects, _ in recording.sizes() if low in SIZES and high in SIZES)
        assert allocated <= found <= allocated + threads
        frees = recording.totals().frees
        assert frees >= freed, (depth, frees, freed)
        record.finish(path)
    assert read.read(path).header().finished


def processes(session):
    """The living processes of the session, with the name of each."""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            fields = (each / "stat").read_text().rpartition(")")[2].split()
            name = (each / "cmdline").read_bytes().split(b"\0")[0]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(fields[3]) == session and fields[0] not in "ZX":
            yield int(each.name), name


def programs(session):
    """The processes of the recorded program that are left."""
    return [pid for pid, name in processes(session) if name == target("progress").encode()]


def left(session):
    """The processes that are left: the launcher may start the program after reap was killed."""
    kill_programs(session)
    return list(processes(session))


def kill_programs(session):
    for pid in programs(session):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def wait_until(condition):
    for _ in range(60_000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("it did not happen within a minute")


@pytest.mark.parametrize("seed", range(20))
def test_a_kill_at_a_random_moment_loses_nothing(tmp_path, seed):
    kill_at_random(tmp_path / "run", seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(1000, 2000, 100))
def test_a_thousand_kills_lose_nothing(tmp_path, first):
    """In ten parts of some minutes, which can be run one by one: -k 1000, -k 1100, ..."""
    begun = 0
    for seed in range(first, first + 100):
        begun += kill_at_random(tmp_path / str(seed), seed)
        shutil.rmtree(tmp_path / str(seed))
    assert begun > 60
