"""Code that was compiled at run time has the names that its compiler wrote to /tmp/perf-PID.map."""

import os
from pathlib import Path

import pytest
from recorded import recorded, target

from reap import native
from reap.recording import read


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


@pytest.mark.parametrize("how", ["link", "old", "folder", "missing"])
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
    assert native.keep_perf_maps(str(done.path), str(folder)) == 0
    assert native.keep_perf_maps(str(done.path), str(tmp_path)) == 0
    assert named(read.read(done.path)) == [("", "", 0)] * 2
