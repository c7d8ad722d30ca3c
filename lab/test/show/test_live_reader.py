"""A recording that is read while it is made says at its end what it says when it is read as a whole."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from programs import reap, reap_command
from recorded import recorded, target

from reap import native
from reap.base.errors import ReapError
from reap.recording import read
from reap.show.live.run import Watched

STEPS = 2000


def sums(growing):
    """Of the stacks: bytes in use, objects and bytes since the last call."""
    rows = growing.stacks(1 << 30)
    return [sum(row[column] for row in rows) for column in (2, 3, 4)]


def watched_to_its_end(folder, depth, *argv):
    """What was read of a recording in many steps, what its stacks added up to, and the recording.

    With a limit of its size a recording in triage has samples alone, as steps always take them.
    """
    path = folder / "w.reap"
    command = [*reap_command(), "record", "-d", depth, "--max-size", "1GB", "-o", str(path), "--", *argv]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not path.exists() or path.stat().st_size < native.BLOCK_BYTES:
        time.sleep(0.001)
    growing, stacks, steps = native.GrowingRecording(str(path)), [0.0, 0.0], 0
    while process.poll() is None:
        growing.update(STEPS, False)
        _, objects, size = sums(growing)
        stacks = [stacks[0] + objects, stacks[1] + size]
        steps += 1
        time.sleep(0.002)
    while growing.update(STEPS, True):
        pass
    _, objects, size = sums(growing)
    assert steps > 3
    return growing, [stacks[0] + objects, stacks[1] + size], read.read(path)


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize(
    "argv",
    [
        ("threads", "exchange", "4", "100000"),
        ("threads", "short", "400"),
        ("processes", "starts", "40"),
        ("processes", "exec", "40"),
        ("processes", "tiny", "100"),
    ],
    ids="-".join,
)
def test_in_steps_it_says_what_the_whole_says(tmp_path, depth, argv):
    growing, (objects, size), whole = watched_to_its_end(tmp_path, depth, target(argv[0]), *argv[1:])
    now, images = growing.now(), whole.images()
    assert growing.finished
    assert now.objects == sum(image.objects for image in images)
    assert now.bytes == sum(image.bytes for image in images)
    assert now.frees == whole.totals().frees
    assert now.processes == len(images)
    assert now.running == 0
    assert now.samples == whole.totals().samples
    assert growing.sizes() == whole.sizes()
    assert now.live_bytes == pytest.approx(0, abs=1)
    assert not growing.damage()
    if depth == "full":
        assert [objects, size] == [sum(row[column] for row in whole.stacks(1 << 30)) for column in (2, 3)]
    elif now.samples == 0:
        assert [objects, size] == [0, 0]
    else:  # the whole scales what samples stand for to what was counted
        assert objects == pytest.approx(whole.totals().weight)
        assert size / objects == pytest.approx(now.bytes / now.objects, rel=6 / now.samples**0.5)
    if len(images) == 1:
        assert now.peak_bytes == pytest.approx(whole.totals().in_use.max_bytes, rel=0.05)
    else:  # what a process has is removed when it is seen to be gone
        assert now.peak_bytes >= whole.totals().in_use.max_bytes * 0.95


def test_while_the_program_runs_live_bytes_are_exact(tmp_path):
    command = [*reap_command(), "record", "-d", "full", "-o", "k.reap", "--", target("killed"), "wait"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        assert process.stdout.read(1) == b"!"
        watched = Watched(tmp_path / "k.reap")
        while (moment := watched.look()).allocations < 5000:
            time.sleep(0.01)
        assert moment.live_bytes >= 5000 * 3001
        assert moment.running == 1
        assert not moment.over
        site = moment.live_sites[0]
        assert site.function == "main"
        assert site.live_bytes == 5000 * 3001
        assert site.location.startswith("targets/killed.c:")
        assert [size.objects for size in moment.sizes if size.low <= 3001 <= size.high] == [5000]
        assert watched.look().busy_sites == []
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()
    moment = watched.look()
    assert moment.over
    assert moment.running == 0
    assert moment.live_bytes == 0


@pytest.mark.timed
def test_a_recording_whose_writers_were_killed_comes_to_an_end(tmp_path):
    command = [*reap_command(), "record", "-d", "full", "-o", "k.reap", "--", target("killed"), "wait"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout.read(1) == b"!"
    launcher = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
    program = int(Path(f"/proc/{launcher}/task/{launcher}/children").read_text().split()[0])
    watched = Watched(tmp_path / "k.reap")
    watched.look()
    for pid in (process.pid, launcher, program):
        os.kill(pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    begun = time.monotonic()
    while not (moment := watched.look()).over:
        assert time.monotonic() - begun < 30
        time.sleep(0.1)
    assert moment.allocations >= 5000
    assert moment.running == 0
    assert moment.notes == []


def test_what_is_large_is_read_in_parts(tmp_path, monkeypatch):
    done = recorded(tmp_path, "full", target("threads"), "exchange", "2", "5000")
    monkeypatch.setattr("reap.show.live.run.MOST_EVENTS", 3000)
    watched = Watched(done.path)
    moments = [watched.look()]
    while moments[-1].behind:
        assert not moments[-1].over
        moments.append(watched.look())
    assert len(moments) > 4
    assert moments[-1].over
    assert moments[-1].allocations == done.objects
    assert [moment.allocations for moment in moments] == sorted(moment.allocations for moment in moments)


def test_a_compressed_recording_is_one_that_is_over(tmp_path):
    done = recorded(tmp_path, "full", target("killed"), "exit")
    native.compress_file(str(done.path))
    moment = Watched(done.path).look()
    assert moment.over
    assert moment.allocations == done.objects


def test_a_file_that_is_read_before_its_header_says_how_long_it_is_is_not_damaged(tmp_path):
    """Its creator lengthens it first, and cuts what was not used at the end."""
    done = recorded(tmp_path, "full", target("threads"), "exchange", "2", "20000")
    data, size, field = done.path.read_bytes(), done.path.stat().st_size, slice(116, 120)  # file_blocks
    assert data[field] == (size // native.BLOCK_BYTES).to_bytes(4, "little")
    early = tmp_path / "early"
    early.write_bytes(data[: field.start] + bytes(4) + data[field.stop : native.BLOCK_BYTES])
    os.truncate(early, 1 << 28)
    growing = native.GrowingRecording(str(early))
    growing.update(STEPS, False)
    early.write_bytes(data)
    while growing.update(STEPS, True):
        pass
    assert growing.now().objects == done.objects
    assert not growing.damage()


def test_damage_and_a_file_that_is_cut_short_are_said(tmp_path):
    done = recorded(tmp_path, "full", target("threads"), "exchange", "2", "20000")
    data = bytearray(done.path.read_bytes())
    for at in range(native.BLOCK_BYTES, len(data), native.BLOCK_BYTES):
        if data[at + 4] == 1:  # events
            data[at + 100] ^= 0xFF
            break
    damaged = tmp_path / "damaged"
    damaged.write_bytes(data)
    watched = Watched(damaged)
    moment = watched.look()
    assert 0 < moment.allocations < done.objects
    assert moment.notes == ["A part of the file is damaged; what is shown lacks it."]

    cut = tmp_path / "cut"
    cut.write_bytes(done.path.read_bytes())
    watched = Watched(cut)
    os.truncate(cut, 0)
    with pytest.raises(ReapError, match="cannot be read as a recording"):
        watched.look()


def test_reading_changes_nothing(tmp_path):
    done = recorded(tmp_path, "triage", target("threads"), "exchange", "2", "20000")
    before = done.path.read_bytes(), done.path.stat().st_mtime_ns
    done.path.chmod(0o400)
    assert Watched(done.path).look().over
    assert (done.path.read_bytes(), done.path.stat().st_mtime_ns) == before


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "No such file"), (b"", "it is empty"), (b"x" * 5000, "not a recording made by reap")],
)
def test_what_is_no_recording_is_said(tmp_path, content, said):
    path = tmp_path / "x.reap"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ReapError, match=said) as raised:
        Watched(path)
    assert "reap record" in raised.value.hint
    done = reap("show", "--live", str(path))
    assert done.returncode == 125
    assert said in done.stderr


def test_a_program_that_fills_its_file_is_counted_on(tmp_path):
    path = tmp_path / "full.reap"
    command = ["record", "-d", "full", "--max-size", "1M", "-o", str(path), "--"]
    assert reap(*command, target("threads"), "exchange", "2", "200000").returncode == 0
    watched = Watched(path)
    moment = watched.look()
    assert moment.over
    whole = read.read(path)
    assert moment.allocations == sum(image.objects for image in whole.images())
    assert moment.notes == [f"Events are missing from some moment on; reap show {path} says why."]
