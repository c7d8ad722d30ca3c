"""Stand-ins calibrated by what the authors measured: which of them are no evidence. Pure functions.

A stand-in that behaves otherwise than the program it stands for says nothing of it. Originals are compared,
too (`artefact.compared`), but stay: they are the program, on another machine.
"""

from collections.abc import Iterator, Sequence

from reap_studies.study.ismm2026 import artefact
from reap_studies.study.judging.exclusions import OURS
from reap_studies.study.records import Measured

CALIBRATED = 1.25
"""How many times a stand-in may depart, either way, in any ratio: machines and versions differ, too."""


def departures(measured: Sequence[Measured]) -> dict[str, str]:
    """Stand-ins that are no evidence: by name, the largest departure, in words."""
    largest: dict[str, tuple[float, str]] = {}
    for name, words, theirs, ours in _compared(measured):
        factor = max(ours / theirs, theirs / ours)
        said = f"{words}: {ours:.2f} here, {theirs:.2f} there"
        largest[name] = max(largest.get(name, (0.0, "")), (factor, said))
    return {name: said for name, (factor, said) in largest.items() if factor > CALIBRATED}


def _compared(measured: Sequence[Measured]) -> Iterator[tuple[str, str, float, float]]:
    """Name of a stand-in, what is compared, the authors' ratio, and ours."""
    ours = [each for each in measured if each.card.origin.package == OURS]
    for pair in artefact.compared(ours):
        if pair.here is not None:
            words = f"{pair.program}, {pair.figure}, {pair.allocator}"
            yield pair.workload, words, pair.artefact.value, pair.here.value
