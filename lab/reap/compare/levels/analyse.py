"""Conclusions from the ratios of a program on fragmented heaps. Pure functions."""

from reap.compare import thresholds as at
from reap.compare.analyse import to_control
from reap.compare.levels.records import Arm, Fragmented
from reap.experiment.records import Ratio


def _own_allocator(result: Fragmented) -> Ratio | None:
    """On clean heaps, CPU time without the program's own allocator, under the baseline's, to that with it."""
    arm = result.arm(result.variants[-1], result.allocators[0], result.levels[0].name)
    return arm.to_custom.get("cpu") if arm is not None and arm.sound else None


def beyond_noise(ratio: Ratio, result: Fragmented) -> bool:
    """Whether it is more than in either run of the baseline."""
    return ratio.ratio.low > 1 and to_control(ratio, result).low > 1


def decided(result: Fragmented) -> bool:
    """Whether more rounds would add nothing: every ratio of CPU time of its tables is decided."""
    ratios = [ratio for arm in result.arms if arm.sound for ratio in _of(arm)]
    if not ratios or not all(_decided(each, result.worth) for each in ratios):
        return False
    # On clean heaps the verdict is of what its own allocator saves.
    saved = _own_allocator(result) if result.clean else None
    return saved is None or not _gains(saved, result.worth) or beyond_noise(saved, result)


def _of(arm: Arm) -> list[Ratio]:
    every = (arm.normalised, arm.slowdown, arm.to_custom, arm.to_best, arm.to_small, arm.to_allocator)
    return [ratios["cpu"] for ratios in every if "cpu" in ratios]


def _gains(ratio: Ratio, worth: float) -> bool:
    """Whether it is so much more that it may be a gain, unless it is noise."""
    return ratio.ratio.value >= 1 + worth and ratio.ratio.high > 1 + at.MAY_HIDE


def _decided(ratio: Ratio, worth: float) -> bool:
    if ratio.verdict == "worse":
        return ratio.ratio.value >= 1 + worth or ratio.ratio.high <= 1 + at.MAY_HIDE
    return ratio.verdict != "inconclusive"
