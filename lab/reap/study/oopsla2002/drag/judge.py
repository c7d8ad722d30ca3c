"""What section 7.3 of OOPSLA 2002 concludes of drag, each with its rule. Pure functions."""

from collections.abc import Callable, Iterable, Sequence

from reap.base.records import Estimate, exactly
from reap.drag.exact.records import DragLevel
from reap.study.judging import MARGIN, Extent, Judged, at_least, at_most, conclusion, counts, mean
from reap.study.oopsla2002.drag.records import Group
from reap.study.oopsla2002.drag.run import LCC, group_of
from reap.study.records import Conclusion, Drag, Finding

VERY_HIGH = 2.0
"""Between the 1.23 of mudlle, which is more drag, and the 3.34 of lcc, which is very high."""


def judge(drags: Sequence[Drag]) -> list[Conclusion]:
    """Every conclusion, in the paper's order: of objects, each by itself."""
    regions = _of(drags, "region")
    return [
        conclusion(
            "7.3",
            "Programs with custom allocators that are no regions have minimal drag.",
            "1.0 on average (Figure 7(a))",
            "total drag: at most 1.05 is for it (one run, counted)",
            _findings(_of(drags, "custom"), "total drag", _drag, at_most(MARGIN)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "7.3",
            "Most programs with general-purpose allocation have minimal drag.",
            "the bulk of them; 1.1 on average, with 255.vortex above the others",
            "total drag: at most 1.05 is for it (one run, counted)",
            _findings(_of(drags, "ordinary"), "total drag", _drag, at_most(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "7.3",
            "Programs with regions have more drag.",
            "1.16 (176.gcc), 1.23 (mudlle), 3.34 (lcc); 1.6 on average, 1.1 without lcc",
            "total drag: above 1.05 is for it (one run, counted)",
            _findings(regions, "total drag", _drag, at_least(MARGIN)),
            "does not hold",
        ),
        conclusion(
            "7.3",
            "A compiler with regions has very high drag.",
            "3.34 (lcc)",
            f"total drag of {LCC}, in the place of lcc: above 2 is for it (one run, counted)",
            _findings(
                [each for each in regions if each.card.name == LCC],
                "total drag",
                _drag,
                at_least(VERY_HIGH),
            ),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "7.3",
            "Regions raise the peak of memory above what freeing at once would need.",
            "by 6 % (175.vpr) to 63 % (lcc)",
            "peak to that with each object freed right after its last access: above 1.05 is for it (one run, "
            "counted)",
            _findings(regions, "peak", _peak, at_least(MARGIN)),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "7.3",
            "On average regions raise the peak of memory much.",
            "23 % on average",
            "the geometric mean of these ratios: above 1.05 is for it; its interval is that of other such "
            "workloads",
            mean([_peak(level) for _, level in _levels(regions)], "peak", at_least(MARGIN)),
            "does not hold",
        ),
    ]


def average_drag(drags: Iterable[Drag], group: Group, *, without: str = "") -> float | None:
    """The arithmetic mean, as Figure 7(a) has it, of the workloads that count; None without any.

    `without` leaves that workload out.
    """
    shown = _levels(_of(drags, group))
    values = [level.drag for each, level in shown if each.card.name != without]
    return sum(values) / len(values) if values else None


def most_drag(drags: Iterable[Drag], group: Group) -> str:
    """Which of the workloads that count drags most; empty without any."""
    shown = _levels(_of(drags, group))
    return max(shown, key=lambda pair: pair[1].drag)[0].card.name if shown else ""


def _of(drags: Iterable[Drag], group: Group) -> list[Drag]:
    return [each for each in drags if group_of(each.card) == group and counts(each.card)]


def _levels(drags: Iterable[Drag]) -> list[tuple[Drag, DragLevel]]:
    return [(each, each.objects.level) for each in drags if each.objects is not None]


def _findings(
    drags: Iterable[Drag], figure: str, take: Callable[[DragLevel], Estimate], judged: Judged
) -> list[Finding]:
    return [
        Finding(workload=each.card.name, figure=figure, ratio=take(level), side=judged(take(level)))
        for each, level in _levels(drags)
    ]


def _drag(level: DragLevel) -> Estimate:
    return exactly(level.drag)


def _peak(level: DragLevel) -> Estimate:
    return exactly(level.peak_ratio)
