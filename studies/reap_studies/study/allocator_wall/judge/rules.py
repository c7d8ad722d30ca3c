"""How a claim of the allocator wall is judged: what its rules are made of. Pure functions."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from reap.api import Estimate
from reap_studies.study import claims
from reap_studies.study.allocator_wall.analyse import Figures
from reap_studies.study.allocator_wall.records import Wall
from reap_studies.study.claims import Claim, Setting
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Conclusion, Finding


@dataclass(frozen=True)
class Judge:
    """What was measured, and over which allocators beside glibc."""

    wall: Wall
    figures: Figures
    others: tuple[str, ...]

    @property
    def cores(self) -> int:
        """Processors."""
        return self.wall.cores


def found(arm: str, figure: str, ratio: Estimate | None, judged: Judged) -> list[Finding]:
    """What a figure says; nothing where it was not measured."""
    if ratio is None:
        return []
    return [Finding(workload=arm, figure=figure, ratio=ratio, side=judged(ratio))]


def times(figure: Estimate, factor: float) -> Estimate:
    """The figure and its interval, so many times."""
    return Estimate(value=figure.value * factor, low=figure.low * factor, high=figure.high * factor)


Rule = Callable[[Claim], Iterable[Iterable[Finding]]]
"""As of reap_studies.study.claims, with the findings of each figure by themselves."""


def judged(judge: Judge, rules: Mapping[str, Rule], **words: object) -> list[Conclusion]:
    """The claims of the text, each by its rule; `words` for the rules' texts."""

    def flat(rule: Rule) -> claims.Rule:
        return lambda it: [each for some in rule(it) for each in some]

    setting = Setting(has={"cores": judge.cores, "nodes": judge.wall.nodes}, words=words)
    return claims.of("allocator_wall").judge({key: flat(rule) for key, rule in rules.items()}, (), setting)
