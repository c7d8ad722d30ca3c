"""Claims as data: what each study's claims.toml says of a published conclusion, beside its rule.

A rule is a function in the study's code: it takes the claim, whose bound it may use, and returns what was
found. A rule without a claim, or a bound that is not a figure, is an error when it is judged.
"""

import tomllib
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

import msgspec

from reap.api import ReapError, Record
from reap_studies.study import judging
from reap_studies.study.judging import Extent, Judged
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

    @property
    def every_bound(self) -> tuple[object, ...]:
        """Of which one at most is set."""
        return (self.at_most, self.at_least, self.within, self.within_times)

    @property
    def judged(self) -> Judged:
        """How its bound judges a figure."""
        if self.at_most is not None:
            return judging.at_most(self.at_most)
        if self.at_least is not None:
            return judging.at_least(self.at_least)
        if (ends := self._ends) is not None:
            return judging.within(*ends)
        raise ReapError(f"the claim {self.id} has no bound", "give it one in claims.toml, beside its rule")

    @property
    def _ends(self) -> tuple[float, float] | None:
        return (1 / self.within_times, self.within_times) if self.within_times else self.within

    def _words(self) -> dict[str, str]:
        """What stands for the bounds in the rule."""
        said = {}
        for bound in (self.at_most, self.at_least, self.within_times):
            if bound is not None:
                said["bound"] = f"{bound:g}"
        if self.within is not None:
            said |= {"low": f"{self.within[0]:g}", "high": f"{self.within[1]:g}"}
        return said | {name: f"{each:g}" for name, each in self.bounds.items()}

    def conclude(
        self, findings: list[Finding], over: Collection[str], words: Mapping[str, object]
    ) -> Conclusion:
        """The claim as it stands by these, of what was measured over these allocators."""
        missing = [name for name in self.allocators if name not in over]
        standing = "inconclusive" if missing else judging.standing(findings, self.refuted, self.extent)
        said = [f"Not measured: {', '.join(missing)}, which it names."] if missing else []
        return Conclusion(
            id=self.id,
            question=self.source,
            claim=self.says,
            published=self.published,
            rule=f"{self.rule.format(**self._words(), **words)}; {self.extent.words}",
            standing=standing,
            answer=" ".join([*said, judging.answer(findings)]),
            findings=findings,
        )


FOLDER = Path(str(files("reap_studies.study")))
"""Where each study has its folder."""
Rule = Callable[[Claim], Iterable[Finding]]
"""What was found that says something of a claim."""


class Claims(dict[str, Claim]):
    """The claims of a study by their id, in the file's order."""

    def judge(
        self, rules: Mapping[str, Rule], over: Collection[str] = (), **words: object
    ) -> list[Conclusion]:
        """Each of these claims by its rule, in the order of the rules; `words` for the rules' texts.

        `over` are the allocators over which something was measured.
        """
        return [self[key].conclude(list(rule(self[key])), over, words) for key, rule in rules.items()]


class _File(Record):
    claim: list[Claim]


@cache
def of(study: str) -> Claims:
    """Those of the study in this folder of reap_studies.study."""
    data = (FOLDER / study / "claims.toml").read_text()
    every = msgspec.convert(tomllib.loads(data), _File).claim
    return Claims({each.id: each for each in every})
