"""Blocks are kept once and whole, whatever is killed when."""

import os
import random
import signal
import subprocess
import sys
import time
import tracemalloc
from pathlib import Path

import msgspec
import pytest
from lab.test.sweep import fakes

from reap.base.errors import ReapError
from reap.base.files import digest_of
from reap.experiment.runner import Listener
from reap.sweep.folder import Blocks, SweepFolder, blocks
from reap.sweep.pool import Here
from reap.sweep.records import Block
from reap.sweep.run import Driver

SWEEP = fakes.a_sweep(fakes.a_cell("one", 12), fakes.a_cell("two", 12))
ROOT = Path(__file__).resolve().parents[3]


def ended(path):
    return [done.block.id for done in blocks(path)]


def line_of(number):
    block = Block(cell="one", kind="k", round=number)
    return block, msgspec.json.encode(fakes.a_done(SWEEP.cells[0], block, fakes.facts_of()))


def test_a_block_that_comes_twice_is_kept_once(tmp_path):
    with SweepFolder.create(tmp_path / "s", SWEEP) as folder:
        assert folder.append(*line_of(1))
        assert not folder.append(*line_of(1))
    with SweepFolder.resume(tmp_path / "s") as folder:
        assert not folder.append(*line_of(1))
        assert folder.append(*line_of(2))
    assert ended(tmp_path / "s") == ["one/k/1", "one/k/2"]


def test_blocks_are_a_set_of_little_memory():
    chance = random.Random(1)
    every = [
        Block(cell=cell, kind=kind, round=number) for cell in "ab" for kind in "kl" for number in range(99)
    ]
    some = chance.choices(every, k=150)
    found = Blocks()
    for block in some:
        found.add(block)
    assert len(found) == len({block.id for block in some})
    assert [block for block in every if block in found] == [block for block in every if block in some]
    tracemalloc.start()
    for number in range(20_000):
        found.add(Block(cell="c", kind="k", round=number))
    grown, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert grown < 20_000


def test_a_torn_line_is_no_block(tmp_path):
    with SweepFolder.create(tmp_path / "s", SWEEP) as folder:
        folder.append(*line_of(1))
    with (tmp_path / "s/blocks.jsonl").open("ab") as file:
        file.write(line_of(2)[1][:200])
    assert ended(tmp_path / "s") == ["one/k/1"]
    with SweepFolder.resume(tmp_path / "s") as folder:
        assert (len(folder.ended), line_of(1)[0] in folder.ended) == (1, True)
        folder.append(*line_of(2))
    assert ended(tmp_path / "s") == ["one/k/1", "one/k/2"]


def test_a_damaged_line_is_named(tmp_path):
    with SweepFolder.create(tmp_path / "s", SWEEP) as folder:
        folder.append(*line_of(1))
    log = tmp_path / "s/blocks.jsonl"
    log.write_bytes(b"{oops}\n" + log.read_bytes())
    with pytest.raises(ReapError, match=r"blocks\.jsonl is damaged"):
        SweepFolder.resume(tmp_path / "s")


def test_a_folder_is_open_once(tmp_path):
    with SweepFolder.create(tmp_path / "s", SWEEP), pytest.raises(ReapError, match="another reap"):
        SweepFolder.resume(tmp_path / "s")


def test_a_folder_that_is_no_sweep_is_refused(tmp_path):
    with pytest.raises(ReapError, match="is not a sweep's folder"):
        SweepFolder.resume(tmp_path)


def test_a_changed_file_is_not_resumed(tmp_path):
    (tmp_path / "prog").write_text("one")
    cell = msgspec.structs.replace(fakes.a_cell(), files={"prog": digest_of(tmp_path / "prog")})
    SweepFolder.create(tmp_path / "s", fakes.a_sweep(cell, directory=tmp_path)).close()
    SweepFolder.resume(tmp_path / "s").close()
    (tmp_path / "prog").write_text("two")
    with pytest.raises(ReapError, match="prog changed since it began"):
        SweepFolder.resume(tmp_path / "s")


def test_a_full_disk_says_how_to_go_on(tmp_path, monkeypatch):
    with SweepFolder.create(tmp_path / "s", SWEEP) as folder:

        def full(_log, _line):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("reap.sweep.folder.append_bytes", full)
        with pytest.raises(ReapError, match="No space left") as caught:
            Driver(folder, Here(SWEEP, work=fakes.work, ask=fakes.ask), Listener()).run()
        assert f"reap compare --resume {tmp_path / 's'}" in caught.value.hint


SCRIPT = """
import sys
from pathlib import Path
from lab.test.sweep import fakes
from reap.experiment.runner import Listener
from reap.sweep.folder import SweepFolder
from reap.sweep.pool import Here
from reap.sweep.run import Driver
with SweepFolder.resume(Path(sys.argv[1])) as folder:
    print("begun", flush=True)
    Driver(folder, Here(folder.sweep, work=fakes.slow_work, ask=fakes.ask), Listener()).run()
"""


def test_a_driver_that_is_killed_loses_the_running_block_alone(tmp_path):
    """Six kills at random moments, then to the end: every block is there once."""
    path = tmp_path / "s"
    SweepFolder.create(path, SWEEP).close()
    chance = random.Random(7)
    before = 0
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT, path],
            stdout=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        assert process.stdout
        process.stdout.readline()
        time.sleep(chance.uniform(0, 0.3))
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        now = len(ended(path))
        assert now >= before
        before = now
    with SweepFolder.resume(path) as folder:
        course = Driver(folder, Here(SWEEP, work=fakes.work, ask=fakes.ask), Listener()).run()
    assert course.repeated == 0
    found = ended(path)
    assert len(found) == len(set(found)) == 24
