"""Counts and estimates of a program's blocks by the recorder. Pure."""

from collections.abc import Sequence

from reap import native
from reap.base.records import Estimate
from reap.evidence.records import Counted
from reap.recording.analyse import estimates
from reap.recording.records import Profile, SizeBin

_CACHE_KEEPS = 1032
"""Bytes of the largest block that glibc's thread cache keeps, with the default settings."""
_ALIGNED = ("posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc")
_RESIZES = ("realloc", "reallocarray")


def counted(profile: Profile, totals: native.Totals, *, cpu_seconds: float) -> Counted:
    """Counts and estimates by the recorder of one run."""
    returned = totals.returned
    calls = profile.calls
    return Counted(
        aligned=sum(calls.get(name, 0) for name in _ALIGNED),
        reallocs=sum(calls.get(name, 0) for name in _RESIZES),
        above_cache=_above_cache(profile.sizes),
        freed_elsewhere=_freed_elsewhere(returned),
        allocations=profile.totals.total_objects,
        frees=totals.frees,
        bytes=profile.totals.total_bytes,
        seconds=profile.seconds,
        cpu_seconds=cpu_seconds,
        peak_bytes=profile.totals.max_bytes.value,
        temporary=profile.temporary.value,
        sizes=profile.sizes,
        calls=calls,
    )


def _above_cache(sizes: Sequence[SizeBin]) -> float | None:
    every = sum(each.objects for each in sizes)
    return sum(each.objects for each in sizes if each.low > _CACHE_KEEPS) / every if every else None


def _freed_elsewhere(returned: native.Returned) -> Estimate | None:
    if returned.weight <= 0:
        return None
    count = estimates.effective(returned.weight, returned.weight_squares)
    return estimates.proportion(returned.by_other_thread / returned.weight * count, count)
