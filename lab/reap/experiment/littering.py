"""Litter of a heap, for a program that is known by its size profile."""

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
    """Litter of a heap at a level, for a program with that profile."""
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
