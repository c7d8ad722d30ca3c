"""All patterns of a recording."""

from reap.recording.analyse.patterns.basis import Basis
from reap.recording.analyse.patterns.constant_growth import constant_growth
from reap.recording.analyse.patterns.growing_pool import growing_pool
from reap.recording.analyse.patterns.overflowing_resource import overflowing_resource
from reap.recording.analyse.patterns.temporaries import temporaries
from reap.recording.analyse.patterns.unoptimized import unoptimized
from reap.recording.records import Pattern


def patterns(basis: Basis) -> list[Pattern]:
    """Patterns that a change of the program removes, the one that explains most first; a line once.

    First of all stands that the program is an unoptimised build, since no figure is of another then.

    Only what the recording decides is listed: of a triage recording that holds samples alone, some patterns
    are not known, and of one from outside none is.
    """
    seen: dict[tuple[str, str], Pattern] = {}
    for find in (constant_growth, overflowing_resource, temporaries, growing_pool):
        for pattern in find(basis):
            seen.setdefault((pattern.function, pattern.location), pattern)
    return [*unoptimized(basis), *seen.values()]
