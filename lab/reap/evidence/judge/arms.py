"""Arms of one kind of change, allocators or settings, and the one of them to name. Pure functions."""

from dataclasses import dataclass

from reap.compare import analyse, judge
from reap.experiment.records import Comparison, Ratio, Side


@dataclass(frozen=True)
class Arms:
    """Arms that were compared with one baseline."""

    sides: list[Side]
    comparison: Comparison | None
    """None where there are none."""

    def best(self) -> Side | None:
        """The fastest, of those whose gain is clearly worth it and pays for its memory."""
        held = self.comparison
        if held is None:
            return None
        return judge.pick([side for side in self.sides if not judge.gains_little(side, held)], held)

    def little(self) -> list[tuple[Side, Ratio]]:
        """Arms whose gain may or may not be worth a change, with what they gain."""
        return [
            (side, analyse.cpu(side))
            for side in self.sides
            if self.comparison is not None and judge.hardly_pays(side, self.comparison)
        ]


def best_beside(own: Arms, others: Arms) -> Side | None:
    """The best of these; where none is clearly worth it, and one of the others is, one that may be.

    Noise would else decide which of the two kinds is named.
    """
    if found := own.best():
        return found
    little = own.little() if others.best() else []
    return min(little, key=lambda each: each[1].ratio.value, default=(None, None))[0]


def best_time(side: Side, comparison: Comparison) -> Ratio:
    """The time in which the arm gains, or its CPU time."""
    return judge.gain(side, comparison) or analyse.cpu(side)
