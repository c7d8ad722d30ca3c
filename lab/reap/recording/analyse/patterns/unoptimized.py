"""Code that was compiled without optimisation: its times and its allocations are not those of a release."""

from reap.base import units
from reap.base.records import exactly
from reap.recording.analyse import estimates
from reap.recording.analyse.patterns.basis import Basis, has_line, of
from reap.recording.analyse.sites import telling
from reap.recording.records import Pattern

_SITES = 8
"""Sites whose compiler is asked for: the first of a module opens its DWARF."""
_MOST = 0.5


def is_optimized(producer: str) -> bool | None:
    """True if DW_AT_producer names an optimisation; None where the compiler does not note its options.

    GCC notes them unless it is told not to. clang and rustc do not.
    """
    options = producer.split()
    if not producer.startswith("GNU ") or "AS" in options[:2]:
        return None
    levels = [option for option in options if option.startswith("-O")]
    if levels:
        return levels[-1] != "-O0"
    return False if any(option.startswith("-m") for option in options) else None


def unoptimized(basis: Basis) -> list[Pattern]:
    """The site with the most objects that unoptimised code has, where that code has most of them; else none.

    Counts objects of the sites with the most objects alone. Code of an unknown compiler counts as optimised.
    """
    seen = objects = 0.0
    first = None
    largest = sorted(basis.used, key=lambda used: -used.site.objects)[:_SITES]
    for used in largest:
        frame = telling(basis.frames(*used.stacks[0][:2]))
        optimized = is_optimized(basis.producer(frame[0], frame[1])) if frame[0] else None
        seen += used.site.objects
        if optimized is False:
            objects += used.site.objects
            first = first or used
    if first is None or not has_line(first.site) or objects < _MOST * seen:
        return []
    share, samples = objects / seen, basis.profile.samples
    of_objects = exactly(share) if basis.exact else estimates.proportion(share * samples, samples)
    return [
        of(
            first,
            "unoptimized",
            {"share_of_objects": of_objects},
            f"this line was compiled without optimisation (-O0), as was the code that allocates "
            f"{units.percent(share)} of the objects: times and temporaries are those of an unoptimised build",
            "compile with -O2, and measure that",
        )
    ]
