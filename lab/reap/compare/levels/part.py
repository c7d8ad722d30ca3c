"""Part of an answer by `reap compare --levels`: a program on fragmented heaps, and the verdict."""

from typing import ClassVar, Self

import msgspec

from reap.answer.part import Limits, Part, Section
from reap.compare.levels.judge import FragmentVerdict
from reap.compare.levels.records import Fragmented
from reap.compare.levels.view import view
from reap.experiment.records import Ratio


class LevelsPart(Part, frozen=True, kw_only=True):
    """A program on fragmented heaps."""

    QUESTION: ClassVar[str] = "How does this program do on a fragmented heap?"

    fragmented: Fragmented
    fragmented_verdict: FragmentVerdict
    """The verdict on `fragmented`."""

    def trimmed(self, limits: Limits) -> Self:  # noqa: ARG002 - what the page does not show is left out always
        """Copy of the part without the ratios of every round."""
        return msgspec.structs.replace(self, fragmented=_without_pairs(self.fragmented))

    def sections(self) -> list[Section]:
        """One section."""
        shown = view(self.fragmented, self.fragmented_verdict)
        return [Section("compare/levels/view.html.j2", "fragmented", shown, shown.notes)]


def _without_pairs(result: Fragmented) -> Fragmented:
    """Arms with the ratios that the page shows, and without those of every round."""

    def bare(ratios: dict[str, Ratio]) -> dict[str, Ratio]:
        drawn = {name: ratios[name] for name in ("cpu", "minor_faults", "peak_resident") if name in ratios}
        return {name: msgspec.structs.replace(ratio, pairs=[]) for name, ratio in drawn.items()}

    arms = [
        msgspec.structs.replace(
            arm,
            normalised=bare(arm.normalised),
            slowdown=bare(arm.slowdown),
            to_custom=bare(arm.to_custom),
            to_best=bare(arm.to_best),
            to_small=bare(arm.to_small),
            to_allocator=bare(arm.to_allocator),
        )
        for arm in result.arms
    ]
    return msgspec.structs.replace(result, arms=arms)
