"""A buffer grows by a constant step: each block replaces one that is smaller by the same number of bytes."""

from reap.base import units
from reap.base.records import exactly
from reap.recording.analyse import shares
from reap.recording.analyse.patterns.basis import MUCH, Basis, has_line, is_python, of, times
from reap.recording.analyse.usage import Used
from reap.recording.records import Pattern

_FEWEST_STEPS = 1000
_FEWEST_SAMPLES = 30
_MOST = 0.9
"""Of the blocks that are replaced, those that are by a constant step."""
_MOST_BYTES = 2 / 3
"""Of all bytes in triage. There it is not known which line allocated the larger block. Were it another one,
that one would have as many bytes as this."""
_SPREAD = 16
"""Steps between the smallest and the largest block at least."""


def constant_growth(basis: Basis) -> list[Pattern]:
    """The lines at which buffers grow by a constant step."""
    return [pattern for used in basis.used for pattern in _of(basis, used)]


def _of(basis: Basis, used: Used) -> list[Pattern]:
    site, history, profile = used.site, used.history, basis.profile
    if history is None or not has_line(site) or is_python(site) or history.step == 0:
        return []
    if history.largest - history.smallest < _SPREAD * history.step:
        return []
    objects, size = shares.of_objects(profile, site), shares.of_bytes(profile, site)
    if basis.exact:
        steps = float(history.constant)
        enough = steps >= _FEWEST_STEPS and steps >= _MOST * history.replaced
        much = max(steps / profile.totals.total_objects, history.copied / profile.totals.total_bytes) >= MUCH
    else:
        steps = site.objects * history.lead / history.ends
        enough = history.lead >= _FEWEST_SAMPLES and history.lead >= _MOST * history.ends
        much = size.low >= _MOST_BYTES
    if not (enough and much):
        return []
    figures = {
        "step": exactly(float(history.step)),
        "steps": exactly(steps) if basis.exact else times(objects, steps / objects.value),
        "share_of_bytes": size,
    }
    return [
        of(
            used,
            "constant-growth",
            figures,
            f"{basis.about}{units.count(steps)} blocks of this line each replace one that is "
            f"{units.size(history.step)} smaller, up to {units.size(history.largest)}: "
            f"{units.percent(size.value)} of all bytes are allocated for it",
            "let the buffer grow by a factor: drop the reserve before each insertion, or double the size in "
            "realloc",
        )
    ]
