"""What section 7.3 of OOPSLA 2002 concludes of drag, each with its rule. Pure functions."""

from collections.abc import Callable, Iterable, Sequence

from reap.api import DragLevel, Estimate, exactly
from reap_studies.study import claims
from reap_studies.study.claims import Setting
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.judging.exclusions import Evidence, counts
from reap_studies.study.oopsla2002.drag.records import Group
from reap_studies.study.oopsla2002.drag.run import LCC, group_of
from reap_studies.study.records import Conclusion, Drag, Finding


def judge(drags: Sequence[Drag], evidence: Evidence | None = None) -> list[Conclusion]:
    """Every conclusion, in the paper's order: of objects, each by itself."""
    custom, ordinary, regions = (_of(drags, group) for group in ("custom", "ordinary", "region"))
    lcc = [each for each in regions if each.card.name == LCC]
    return claims.of("oopsla2002").judge(
        {
            "custom-drag": lambda it: _findings(custom, "total drag", _drag, it.judged),
            "ordinary-drag": lambda it: _findings(ordinary, "total drag", _drag, it.judged),
            "region-drag": lambda it: _findings(regions, "total drag", _drag, it.judged),
            "compiler-drag": lambda it: _findings(lcc, "total drag", _drag, it.judged),
            "region-peak": lambda it: _findings(regions, "peak", _peak, it.judged),
            "region-peak-average": lambda it: _findings(regions, "peak", _peak, it.judged),
        },
        (),
        Setting(evidence=evidence or Evidence()),
    )


def average_drag(drags: Iterable[Drag], group: Group, *, without: str = "") -> float | None:
    """The arithmetic mean, as Figure 7(a) has it, of the workloads that count; None without any.

    `without` leaves that workload out.
    """
    shown = _levels(_counted(drags, group))
    values = [level.drag for each, level in shown if each.card.name != without]
    return sum(values) / len(values) if values else None


def most_drag(drags: Iterable[Drag], group: Group) -> str:
    """Which of the workloads that count drags most; empty without any."""
    shown = _levels(_counted(drags, group))
    return max(shown, key=lambda pair: pair[1].drag)[0].card.name if shown else ""


def _of(drags: Iterable[Drag], group: Group) -> list[Drag]:
    return [each for each in drags if group_of(each.card) == group]


def _counted(drags: Iterable[Drag], group: Group) -> list[Drag]:
    return [each for each in _of(drags, group) if counts(each.card)]


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
