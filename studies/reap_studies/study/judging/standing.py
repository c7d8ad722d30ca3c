"""The verdict on a conclusion. Pure functions; no number here is a result.

A figure is for or against a conclusion only where its whole interval is, a program where most of its figures
are. A conclusion says of how many programs it is true: of nearly all, of most, or of some. It stands by the
share of decided programs that are for it, and only where at least half of all are decided: one interval in
twenty misses the truth, so that one program among many neither makes nor refutes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from reap.api import Estimate, units
from reap_studies.study.judging import programs
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.judging.programs import QUORUM
from reap_studies.study.records import Finding, Side, Standing


class Extent(Enum):
    """Of how many programs a conclusion is said."""

    NEARLY_ALL = "nearly all"
    MOST = "most"
    SOME = "some"

    @property
    def share(self) -> float:
        """The least share of what is decided that is for it."""
        return {Extent.NEARLY_ALL: 0.75, Extent.MOST: 0.5, Extent.SOME: 0.25}[self]

    def words(self, unit: str) -> str:
        """As the page says it."""
        share = units.percent(self.share)
        return f"holds with {share} of the decided {unit}s for it, partly with half of that"


@dataclass(frozen=True)
class Question:
    """How a claim becomes a verdict."""

    extent: Extent
    refuted: Standing
    """Its standing where the evidence is against it."""
    unit: str = "figure"
    """What is counted: `program`, `input` or `figure`."""
    least: int = 1
    """The minimum number of these."""
    of_mean: Judged | None = None
    """Where it is about means over programs: what decides one. There is a mean for each kind of figure."""

    def sides(self, findings: Sequence[Finding]) -> list[Side]:
        """What votes: programs, means of them, or figures."""
        if self.of_mean is not None:
            return [self.of_mean(each) for each in means(findings).values()]
        voting = programs.effects(findings) if self.unit == "program" else findings
        return [each.side for each in voting]

    def number(self, findings: Sequence[Finding]) -> int:
        """How many units there are."""
        return len({each.workload for each in findings}) if self.unit == "program" else len(findings)

    def lacking(self, findings: Sequence[Finding]) -> str:
        """Why there are too few to judge; empty where there are enough."""
        number = self.number(findings)
        if number >= self.least:
            return ""
        return f"{units.number(number, self.unit)} of the {self.least} that it takes"

    def standing(self, findings: Sequence[Finding]) -> Standing:
        """How it stands by these, of whatever number."""
        sides = self.sides(findings)
        decided = [each for each in sides if each != "inconclusive"]
        if not decided or len(decided) < QUORUM * len(sides):
            return "inconclusive"
        share = decided.count("for") / len(decided)
        if share >= self.extent.share:
            return "holds"
        return "holds partly" if share >= self.extent.share / 2 else self.refuted

    def verdict(self, findings: Sequence[Finding]) -> Standing:
        """Standing by the findings, inconclusive where there are too few."""
        return "inconclusive" if self.lacking(findings) else self.standing(findings)


def means(findings: Sequence[Finding]) -> dict[str, Estimate]:
    """The mean over programs of each kind of figure; of none that fewer than programs.LEAST have."""
    by_figure: dict[str, list[Finding]] = {}
    for each in findings:
        by_figure.setdefault(each.figure, []).append(each)
    found = {name: programs.mean(own) for name, own in by_figure.items() if len(own) >= programs.LEAST}
    return {name: mean for name, mean in found.items() if mean is not None}
