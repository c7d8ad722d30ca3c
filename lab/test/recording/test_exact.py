"""What is recorded is what the program did, to the last digit where it is counted."""

from collections import Counter

import pytest
from recorded import recorded, target

pytestmark = pytest.mark.bare

DEPTHS = ("triage", "full")


class Truth:
    """What a program wrote about itself: lines of KIND NAME NUMBER."""

    def __init__(self, path):
        self.sizes, self.temporary, self.left = Counter(), Counter(), Counter()
        """How many objects of each size there were; how many of these were temporary, or left at the end."""
        self.calls, self.totals = Counter(), Counter()
        by_size = {"size": self.sizes, "temporary": self.temporary, "left": self.left}
        by_name = {"call": self.calls, "total": self.totals}
        for line in path.read_text().splitlines():
            kind, name, number = line.split()
            if kind in by_size:
                by_size[kind][int(name)] += int(number)
            else:
                by_name[kind][name] += int(number)


def large_bin(size):
    """The low end of the bin that counts a size: exact below 4096, four bins an octave above."""
    if size < 4096:
        return size
    quarter = 1 << (size.bit_length() - 3)
    return size // quarter * quarter


def exact(folder, depth, seed=1, calls=20000, **options):
    done = recorded(folder, depth, target("exact"), str(folder / "truth"), str(seed), str(calls), **options)
    assert done.outcome.status == 0, done.outcome.stderr_tail
    return done, Truth(folder / "truth")


@pytest.mark.parametrize("depth", DEPTHS)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_every_call_is_counted_by_size_and_by_function(tmp_path, depth, seed):
    done, truth = exact(tmp_path, depth, seed)
    bins, volume = Counter(), Counter()
    for size, count in truth.sizes.items():
        bins[large_bin(size)] += count
        volume[large_bin(size)] += count * size
    assert {low: (objects, size) for low, _, objects, size in done.recording.sizes()} == {
        low: (bins[low], volume[low]) for low in bins
    }
    assert done.calls == truth.calls
    assert done.objects == truth.totals["objects"]
    assert done.bytes == sum(size * count for size, count in truth.sizes.items())
    assert done.totals.frees == truth.totals["frees"]
    assert done.totals.failures == truth.totals["failures"]
    assert (done.totals.skipped, done.totals.unmatched_frees) == (0, 0)


def test_full_depth_knows_peaks_temporaries_and_what_was_never_freed(tmp_path):
    done, truth = exact(tmp_path, "full", seed=4)
    totals = done.totals
    assert (totals.in_use.max_objects, totals.in_use.max_bytes) == (
        truth.totals["peak_objects"],
        truth.totals["peak_bytes"],
    )
    assert totals.temporary == truth.totals["temporary"]
    assert totals.immortal_objects == truth.totals["left_objects"]
    assert totals.immortal_bytes == truth.totals["left_bytes"]
    freed = done.recording.lifetimes()
    assert sum(objects for _, _, objects, _ in freed) == truth.totals["frees"]
    assert totals.weight == truth.totals["objects"]
    assert sum(stack[2] for stack in done.recording.stacks(100000)) == truth.totals["objects"]
