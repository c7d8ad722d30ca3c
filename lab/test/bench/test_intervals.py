"""Confidence intervals on recorded rounds of an allocator against itself: lab/bench/intervals.py."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
import intervals


@pytest.mark.parametrize("file", sorted(intervals.RECORDED.glob("*.txt")), ids=lambda file: file.stem)
def test_at_most_5_percent_of_intervals_leave_the_truth_out(file: Path) -> None:
    shares, _ = intervals.left_out([float(line) for line in file.read_text().split()], 1000)
    # Seeded, so no chance is left; three standard deviations of 1,000 are 2 %.
    assert max(shares.values()) <= 0.07, shares
