"""Claims as data: what each study's claims.toml says of a published conclusion, beside its rule.

A rule is a function in the study's code: it takes the claim, whose bound it may use, and returns what was
found. A rule without a claim, or a bound that is not a figure, is an error when it is judged.
"""

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Literal

import msgspec

from reap.api import ReapError, Record
from reap_studies.study.judging import bounds, exclusions, programs, sensitivity, words
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.judging.exclusions import Evidence, Topic
from reap_studies.study.judging.standing import Extent, Question, means
from reap_studies.study.records import Conclusion, Finding, Standing


class Claim(Record):
    """A published conclusion. At most one of its bounds is set."""

    id: str
    source: str
    """The research question, section or figure that it is of, or what it is about."""
    says: str
    published: str
    """The paper's own numbers, or its words."""
    rule: str
    """When a figure is for it. {bound}, or {low} and {high}, stand for its bounds, other names for words that
    the rule's code gives."""
    refuted: Standing
    """Its standing where the figures are against it."""
    extent: Extent
    at_most: float | None = None
    at_least: float | None = None
    within: tuple[float, float] | None = None
    within_times: float | None = None
    """Within so many times either way."""
    bounds: dict[str, float] = {}
    """What else the rule compares with, by name; {name} in its text."""
    allocators: list[str] = []
    """Which allocators it names: where one of them was not measured, it is inconclusive."""
    unit: Literal["program", "input", "figure"] = "figure"
    """What is counted: a claim about many programs is judged by programs."""
    least: int | None = None
    """The minimum number of units; of programs and inputs programs.LEAST, where it does not say."""
    of_mean: bool = False
    """Whether it is about means over programs, one for each kind of figure."""
    fragmented: bool = False
    """Whether it is about fragmented heaps."""
    naive: bool = False
    """Whether it compares programs without their own allocators alone."""
    about: list[str] = []
    """Exclusions that do not apply, as the claim is about what they leave out."""
    needs: dict[str, int] = {}
    """What a machine must have to measure it, as `cores`, and how many."""

    @property
    def every_bound(self) -> tuple[object, ...]:
        """Of which one at most is set."""
        return (self.at_most, self.at_least, self.within, self.within_times)

    @property
    def judged(self) -> Judged:
        """How its bound judges a figure."""
        if self.at_most is not None:
            return bounds.at_most(self.at_most)
        if self.at_least is not None:
            return bounds.at_least(self.at_least)
        if (ends := self._ends) is not None:
            return bounds.within(*ends)
        raise ReapError(f"the claim {self.id} has no bound", "give it one in claims.toml, beside its rule")

    @property
    def _ends(self) -> tuple[float, float] | None:
        return (1 / self.within_times, self.within_times) if self.within_times else self.within

    @property
    def _topic(self) -> Topic:
        return Topic(about=self.about, fragmented=self.fragmented, naive=self.naive)

    @property
    def question(self) -> Question:
        """How it becomes a verdict."""
        least = 1 if self.unit == "figure" else programs.LEAST
        return Question(
            extent=self.extent,
            refuted=self.refuted,
            unit=self.unit,
            least=least if self.least is None else self.least,
            of_mean=self.judged if self.of_mean else None,
        )

    def _words(self) -> dict[str, str]:
        """What stands for the bounds in the rule."""
        said = {}
        for bound in (self.at_most, self.at_least, self.within_times):
            if bound is not None:
                said["bound"] = f"{bound:g}"
        if self.within is not None:
            said |= {"low": f"{self.within[0]:g}", "high": f"{self.within[1]:g}"}
        return said | {name: f"{each:g}" for name, each in self.bounds.items()}

    def conclude(self, found: list[Finding], over: Collection[str], setting: "Setting") -> Conclusion:
        """The claim as it stands by these, of what was measured over these allocators."""
        findings = exclusions.marked(found, setting.evidence, self._topic)
        counted = exclusions.counted(findings)
        question = self.question
        by_program = self.unit == "program"
        is_enough = by_program and not question.lacking(counted)
        standing, why = self._verdict(counted, over, setting.has)
        sides = question.sides(counted)
        unit = "mean" if self.of_mean else self.unit
        return Conclusion(
            id=self.id,
            question=self.source,
            claim=self.says,
            published=self.published,
            rule=f"{self.rule.format(**self._words(), **setting.words)}; {self.extent.words(unit)}",
            standing=standing,
            answer=" ".join([*why, words.answer(counted, sides, unit)]),
            findings=findings,
            mean=programs.mean(counted) if by_program and not self.of_mean else None,
            means=means(counted) if self.of_mean else {},
            flips=sensitivity.flips(findings, question) if is_enough else None,
            sensitivity=sensitivity.variations(findings, question) if by_program else [],
        )

    def _verdict(
        self, counted: list[Finding], over: Collection[str], has: Mapping[str, int]
    ) -> tuple[Standing, list[str]]:
        """Its standing, and what keeps it from being judged, in sentences."""
        short = [
            f"{number} {what} (this machine: {has[what]})"
            for what, number in self.needs.items()
            if what in has and has[what] < number
        ]
        if short:
            return "not measurable here", [f"Takes {', '.join(short)}."]
        why = []
        if missing := [name for name in self.allocators if name not in over]:
            why.append(f"Not measured: {', '.join(missing)}, which it names.")
        if counted and (lacking := self.question.lacking(counted)):
            why.append(f"Not judged: {lacking}.")
        return ("inconclusive" if why else self.question.verdict(counted)), why


@dataclass(frozen=True)
class Setting:
    """What claims are judged in."""

    evidence: Evidence = field(default_factory=Evidence)
    has: Mapping[str, int] = field(default_factory=dict)
    """How many cores, and what else claims need, the machine has."""
    words: Mapping[str, object] = field(default_factory=dict)
    """Words for the texts of rules."""


FOLDER = Path(str(files("reap_studies.study")))
"""Where each study has its folder."""
Rule = Callable[[Claim], Iterable[Finding]]
"""What was found that says something of a claim."""


class Claims(dict[str, Claim]):
    """The claims of a study by their id, in the file's order."""

    def judge(
        self, rules: Mapping[str, Rule], over: Collection[str] = (), setting: Setting | None = None
    ) -> list[Conclusion]:
        """Each of these claims by its rule, in the order of the rules.

        `over` are the allocators over which something was measured.
        """
        where = setting or Setting()
        return [self[key].conclude(list(rule(self[key])), over, where) for key, rule in rules.items()]


class _File(Record):
    claim: list[Claim]


@cache
def of(study: str) -> Claims:
    """Those of the study in this folder of reap_studies.study."""
    data = (FOLDER / study / "claims.toml").read_text()
    every = msgspec.convert(tomllib.loads(data), _File).claim
    return Claims({each.id: each for each in every})
