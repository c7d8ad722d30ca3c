"""Code that was compiled at run time has the names that its compiler wrote to /tmp/perf-PID.map."""

import os
from pathlib import Path

import pytest
from recorded import recorded, target

from reap import native
from reap.recording import read
from reap.recording.analyse.notes import notes


@pytest.fixture
def run(tmp_path):
    done = recorded(tmp_path, "full", target("compiled"))
    assert done.outcome.status == 0
    written = Path(f"/tmp/perf-{done.recording.images()[0].pid}.map")
    yield done, written
    written.unlink(missing_ok=True)


def named(recording):
    """The outermost frame of each stack of the program's two blocks: where the walk of the stack ended."""
    chains = [recording.frames(image, stack) for image, stack, *_ in recording.stacks(1000)]
    return sorted(chain[-1][2:5] for chain in chains if chain[-1][0] == "")


def test_the_map_is_kept_in_the_recording(run):
    done, written = run
    assert written.exists()
    written.unlink()
    known = named(read.read(done.path))
    assert known == [("JS:*second", "/srv/shop.js", 12), ("first(int, long)", "", 0)]
    assert not read.read(done.path).damage()
    assert {site.function for site in done.profile.sites} >= {"JS:*second", "first(int, long)"}


def test_without_a_map_addresses_stay(tmp_path):
    done = recorded(tmp_path, "full", target("compiled"), "none")
    assert named(done.recording) == [("", "", 0)] * 2


@pytest.mark.parametrize("how", ["link", "old", "folder", "pipe", "missing"])
def test_a_map_that_is_not_the_programs_is_not_read(tmp_path, how):
    done = recorded(tmp_path, "full", target("compiled"), "none")
    (first, _) = sorted(
        {
            frame[1]
            for image, stack, *_ in done.recording.stacks(1000)
            for frame in done.recording.frames(image, stack)
            if frame[0] == ""
        }
    )
    text = f"{first - 16:x} 40 forged\n"
    folder = tmp_path / "maps"
    folder.mkdir()
    file = folder / f"perf-{done.recording.images()[0].pid}.map"
    if how == "link":
        (tmp_path / "elsewhere").write_text(text)
        file.symlink_to(tmp_path / "elsewhere")
    elif how == "old":
        file.write_text(text)
        os.utime(file, (1, 1))
    elif how == "folder":
        file.mkdir()
    elif how == "pipe":
        os.mkfifo(file)
    assert native.keep_perf_maps(str(done.path), str(folder)) == 0
    assert native.keep_perf_maps(str(done.path), str(tmp_path)) == 0
    kept = read.read(done.path)
    assert named(kept) == [("", "", 0)] * 2
    assert not kept.damage()
    said = [note for note in notes(kept, "full") if f"perf-{kept.images()[0].pid}.map" in note]
    assert len(said) == (how in ("link", "folder", "pipe"))


def test_a_hostile_map_takes_no_time_and_no_memory(tmp_path):
    """Its lines lie over each other and over everything, are endless, and say things to the terminal."""
    done = recorded(tmp_path, "full", target("compiled"), "none")
    pid = done.recording.images()[0].pid
    with (tmp_path / f"perf-{pid}.map").open("wb") as file:
        file.write(b"0 ffffffffffffffff everything\n" * 200_000)
        file.write(b"0 ffffffffffffffff " + b"x" * 3_000_000 + b"\n")
        file.write(b"0 ffffffffffffffff \x1b[31mred\x07\n")
        file.truncate(1 << 33)  # zeros, without an end of line
    assert native.keep_perf_maps(str(done.path), str(tmp_path)) == 2
    kept = read.read(done.path)
    assert named(kept) == [("?[31mred?", "", 0)] * 2
    (note,) = [note for note in notes(kept, "full") if f"perf-{pid}.map" in note]
    assert "longer than 256 MiB" in note
