"""What the ratios of a program on fragmented heaps settle. Pure functions."""

from reap.compare import thresholds as at
from reap.compare.levels.records import Arm, Fragmented
from reap.experiment.records import Ratio


def decided(result: Fragmented) -> bool:
    """Whether more rounds would add nothing: every ratio of CPU time of its tables is decided."""
    noise = result.noise.get("cpu")
    # On clean heaps the verdict is of what its own allocator saves, which must be beyond the noise.
    least = max(1.0, noise.ratio.high) if noise and result.clean else 1.0
    ratios = [ratio for arm in result.arms if arm.sound for ratio in _of(arm)]
    return bool(ratios) and all(_decided(each, least, result.worth) for each in ratios)


def _of(arm: Arm) -> list[Ratio]:
    every = (arm.normalised, arm.slowdown, arm.to_custom, arm.to_best, arm.to_small, arm.to_allocator)
    return [ratios["cpu"] for ratios in every if "cpu" in ratios]


def _decided(ratio: Ratio, least: float, worth: float) -> bool:
    held = ratio.ratio
    if ratio.verdict == "worse":
        return (held.low > least and held.value >= 1 + worth) or held.high <= 1 + at.MAY_HIDE
    return ratio.verdict != "inconclusive"
