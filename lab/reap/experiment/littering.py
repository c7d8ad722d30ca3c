"""What a heap is littered with, for a program that is known by its size profile."""

from reap.launch.litter.level import Level
from reap.launch.litter.records import DEFAULT_SEED, Litter, Order
from reap.recording.analyse.size_profile import SizeProfile


def litter_of(
    profile: SizeProfile,
    level: Level,
    *,
    seed: int = DEFAULT_SEED,
    order: Order = "random",
    touch: bool = True,
    children: bool = False,
    threads: bool = True,
) -> Litter:
    """What a heap is littered with at a level, for a program of that profile."""
    return Litter(
        level=level,
        sizes=profile.sizes,
        peak=round(profile.peak.value),
        threads=profile.threads if threads else 1,
        seed=seed,
        order=order,
        touch=touch,
        children=children,
    )
