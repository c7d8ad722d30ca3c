"""Figures of the allocator wall from its samples: medians, ratios, intervals. Pure functions."""

import statistics as plain
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from reap.api import Estimate, exactly, statistics
from reap_studies.study.allocator_wall.records import Sample


class At(NamedTuple):
    """Which figure: of a part, an arm, a setting, and its name."""

    part: str
    arm: str
    setting: str
    field: str


class Figures:
    """All samples, by what they are of."""

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._values: dict[tuple[str, str, str], dict[int, Mapping[str, float]]] = {}
        for each in samples:
            if not each.problem:
                self._values.setdefault((each.part, each.arm, each.setting), {})[each.round] = each.values

    def rounds(self, part: str, arm: str, setting: str, field: str) -> dict[int, float]:
        """Its values by round; empty where there are none."""
        found = self._values.get((part, arm, setting), {})
        return {number: values[field] for number, values in found.items() if field in values}

    def settings(self, part: str) -> list[str]:
        """Those of a part, in the order in which they were measured."""
        return list(dict.fromkeys(setting for of, _, setting in self._values if of == part))

    def arms(self, part: str, setting: str) -> list[str]:
        """Those that were measured in a setting."""
        return [arm for of, arm, one in self._values if (of, one) == (part, setting)]

    def median(self, part: str, arm: str, setting: str, field: str) -> float | None:
        """In the middle over rounds."""
        values = self.rounds(part, arm, setting, field).values()
        return plain.median(values) if values else None

    def value(self, part: str, arm: str, setting: str, field: str) -> Estimate | None:
        """The figure with its interval; exact where it never differed or was counted once.

        Where some round has 0 or less, which has no logarithm, the interval is that of all rounds.
        """
        return estimate(list(self.rounds(part, arm, setting, field).values()))

    def ratio(self, upper: At, lower: At) -> Estimate | None:
        """One figure to another, round by round; None where no two are of the same round.

        None, too, where one is not above 0 in some round: how far it is from 0 is then not known.
        """
        return estimate(list(self.pairs(upper, lower).values()))

    def pairs(self, upper: At, lower: At) -> dict[int, float]:
        """The ratio by round, of those that have both."""
        above, below = self.rounds(*upper), self.rounds(*lower)
        both = sorted(above.keys() & below.keys())
        if any(above[number] <= 0 or below[number] <= 0 for number in both):
            return {}
        return {number: above[number] / below[number] for number in both}

    def grown(self, one: tuple[At, At], other: tuple[At, At]) -> Estimate | None:
        """The ratio of two ratios, round by round."""
        above, below = self.pairs(*one), self.pairs(*other)
        return estimate([above[number] / below[number] for number in above if number in below])


def estimate(values: Sequence[float]) -> Estimate | None:
    """The geometric mean with its interval; None of nothing."""
    if not values:
        return None
    if min(values) == max(values):
        return exactly(values[0])
    if min(values) <= 0:
        return Estimate(value=plain.median(values), low=min(values), high=max(values))
    return statistics.interval(values)
