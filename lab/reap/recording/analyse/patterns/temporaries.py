"""Most objects of a program are temporaries of one line: freed before their thread allocates again."""

from reap.base import units
from reap.recording.analyse import shares
from reap.recording.analyse.patterns.basis import FEW_OBJECTS, Basis, has_line, is_python, of
from reap.recording.analyse.usage import Used
from reap.recording.records import Pattern

_MOST_OBJECTS = 0.5
_MOST_OF_SITE = 0.9
_FEW_REALLOCATED = 0.1
"""A block that a realloc replaces ends as a temporary does."""


def temporaries(basis: Basis) -> list[Pattern]:
    """The line whose temporaries are most objects of the program; at most one."""
    return [pattern for used in basis.used for pattern in _of(basis, used)][:1]


def _of(basis: Basis, used: Used) -> list[Pattern]:
    site, profile = used.site, basis.profile
    if used.history is None or not has_line(site) or site.objects <= 0 or site.temporary < FEW_OBJECTS:
        return []
    if is_python(site) and not site.via:
        return []
    part = min(1.0, site.temporary / site.objects)
    of_all = shares.of_temporaries(profile, site)
    moved = used.history.reallocated / used.history.objects if used.history.objects > 0 else 0.0
    if part < _MOST_OF_SITE or of_all.low < _MOST_OBJECTS or moved > _FEW_REALLOCATED:
        return []
    return [
        of(
            used,
            "temporaries",
            {"share_of_objects": of_all, **basis.counted(average_size=site.bytes / site.objects)},
            f"{basis.about}{units.percent(of_all.value)} of all objects are temporaries of this line, freed "
            f"before the thread allocates again: {basis.about}{units.count(site.temporary)}, of "
            f"{units.size(site.bytes / site.objects)} on average",
            "keep one buffer and reuse it at this line, or pass a view, so that it allocates nothing",
        )
    ]
