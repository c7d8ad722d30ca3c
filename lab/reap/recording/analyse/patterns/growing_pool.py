"""A pool that only grows: chunks of a line are never freed, while all other memory in use stays level."""

from reap import native
from reap.base import units
from reap.recording.analyse.growth import CHUNK, FEWEST_CHUNKS
from reap.recording.analyse.patterns.basis import Basis, has_line, of
from reap.recording.analyse.trend import rise
from reap.recording.analyse.usage import Used, before_the_end, curve
from reap.recording.records import Pattern

_LEAST = 1 << 20
"""Bytes by which the pool grows in the second half."""
_FREED = 0.01
"""Of the chunks' bytes, those that are freed before the pool is largest."""
_LEVEL = 0.1
"""Growth of all other memory, as a part of the pool's."""
_OTHER_OBJECTS = 1000
_OTHER_TURNS = 4.0
"""How often all other memory was allocated again: the program does the same work again and again."""


def growing_pool(basis: Basis) -> list[Pattern]:
    """The lines whose chunks are never freed and that keep growing."""
    return [pattern for used in basis.used for pattern in _of(basis, used)]


def _of(basis: Basis, used: Used) -> list[Pattern]:
    site, history, profile = used.site, used.history, basis.profile
    if history is None or not has_line(site) or site.grew is None or site.grew.low < _LEAST:
        return []
    if site.objects < FEWEST_CHUNKS or site.bytes < CHUNK * site.objects or _freed(history) > _FREED:
        return []
    others = [max(all_of - own, 0.0) for all_of, own in zip(basis.floors, history.floors, strict=True)]
    grew = rise(curve(before_the_end(others)))
    turned_over = (
        profile.totals.total_objects - site.objects >= _OTHER_OBJECTS
        and profile.totals.total_bytes - site.bytes >= _OTHER_TURNS * max(others)
    )
    if not turned_over or (grew is not None and grew.high > _LEVEL * site.grew.value):
        return []
    chunk = site.bytes / site.objects
    figures = {"grew": site.grew, **basis.counted(chunk=chunk, most=history.most)}
    return [
        of(
            used,
            "growing-pool",
            figures,
            f"blocks of this line ({units.size(chunk)} on average) are never freed: they "
            f"grew by {units.size(site.grew.value)} in the second half, to {units.size(history.most)}, while "
            "all other memory in use stayed level",
            "free them, or reset the pool or document that they belong to, after each unit of work",
        )
    ]


def _freed(history: native.SiteHistory) -> float:
    """The part of the chunks' bytes that was freed before their sum was largest."""
    largest = max(range(len(history.floors)), key=history.floors.__getitem__)
    return sum(history.freed[: largest + 1]) / history.bytes if history.bytes > 0 else 0.0
