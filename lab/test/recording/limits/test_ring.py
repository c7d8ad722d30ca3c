"""Of a long run the newest part is kept: by time or by bytes, with nothing missing in it."""

import pytest
from marked import INCLUDE
from programs import reap
from recorded import target

from reap import native
from reap.launch.records import Launch
from reap.recording import read, record
from reap.recording.analyse.profile import profile
from reap.recording.part import Limits, Moment

MS = 1500
LAST = 5000
"""The size of the program's last block."""


def taken(folder, depth, limits, mode="steps"):
    program = target("limits/parts", f"-I{INCLUDE}")
    path = folder / "ring.reap"
    launch = Launch(argv=[program, mode, str(MS)], program=program)
    assert record.record(launch, path, depth, limits=limits).status == 0
    return path, read.read(path)


def steps(found):
    """The numbers of the program's steps in the events, and whether the last block is there."""
    rows = []
    found.events(found.calls(0.0), 1 << 20, rows.append)
    sizes = {
        int(size)
        for each in rows
        for size, kind in zip(each.sizes, each.kinds, strict=True)
        if kind == 0 and size >= 1000
    }
    assert LAST in sizes
    return sorted(size - 1000 for size in sizes - {LAST})


def on_disk(path):
    return path.stat().st_blocks * 512


@pytest.mark.parametrize("mode", ["steps", "heirs"])
def test_the_last_moments_are_kept_whole(tmp_path, mode):
    path, found = taken(tmp_path, "full", Limits(last_seconds=0.4), mode)
    header = found.header()
    assert header.lead > 0
    assert header.seconds >= 0.4
    seen = steps(found)
    assert min(seen) > 5
    assert seen == list(range(min(seen), max(seen) + 1))
    assert found.totals().unmatched_frees == 0
    assert not found.damage()
    said = profile(found, [])
    assert said.part is not None
    assert said.part.start == "the last 400 ms"
    assert any("(the last 400 ms)" in note for note in said.notes)
    assert on_disk(path) < 0.9 * path.stat().st_size


def test_a_shorter_run_is_kept_whole(tmp_path):
    _, found = taken(tmp_path, "full", Limits(last_seconds=60))
    assert found.header().lead == 0
    assert min(steps(found)) == 0
    assert profile(found, []).part is None


def test_the_last_bytes_are_kept(tmp_path):
    path, found = taken(tmp_path, "full", Limits(last_bytes=2 << 20))
    assert path.stat().st_size > 3 << 20
    assert on_disk(path) < 3 << 20
    seen = steps(found)
    assert found.header().lead > 0
    assert min(seen) > 5
    assert seen == list(range(min(seen), max(seen) + 1))
    assert not found.damage()


def test_triage_counts_from_the_start_and_samples_of_the_last(tmp_path):
    whole_path, whole = taken(tmp_path, "triage", Limits())
    whole_path.unlink()
    _, found = taken(tmp_path, "triage", Limits(last_seconds=0.4))
    objects = sum(image.objects for image in found.images())
    assert objects > 0.5 * sum(image.objects for image in whole.images())
    assert 0 < found.totals().samples < whole.totals().samples
    assert any("are counted from the start of the run" in note for note in profile(found, []).notes)


def test_it_ends_where_the_part_ends(tmp_path):
    """The last before a moment: what came to pass before something went wrong."""
    program = target("limits/parts", f"-I{INCLUDE}")
    path = tmp_path / "ring.reap"
    limits = Limits(stop=Moment(phase="steady"), last_bytes=64 << 20)
    launch = Launch(argv=[program, "phases", "2000"], program=program)
    assert record.record(launch, path, "full", limits=limits).status == 0
    found = read.read(path)
    assert found.header().gate == native.GATE_ENDED
    assert [size for _, size, objects, _ in found.sizes() if objects >= 1000] == [24]


def test_bad_amounts_are_refused(tmp_path):
    for wrong in ("5m", "5", "0s", "many", ""):
        refused = reap("record", "--last", wrong, "--", "true", cwd=tmp_path)
        assert refused.returncode == 2, wrong
        assert "is neither a time nor a size" in " ".join(refused.stderr.split())
    refused = reap("record", "--last", "5min", "--max-size", "1M", "--", "true", cwd=tmp_path)
    assert refused.returncode == 2
    assert "--max-size must not be used with --last" in refused.stderr
