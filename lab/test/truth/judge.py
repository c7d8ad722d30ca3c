"""Holds what a verb said against what is true: right, inconclusive or wrong."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from cases import Advice, Said
from known.records import Truth

from reap.evidence.analyse.suspicions.records import Suspicion
from reap.evidence.judge.records import Diagnosis
from reap.rss.judge import ResidenceVerdict

Outcome = Literal["right", "inconclusive", "wrong"]
POINTS = 0.05
"""How far a share of time may be from the truth."""

LITTLE = "little to gain"
"""A gain at the line of what is worth a change: on either side of it another headline is as true."""
ADVISED = {"change a setting or the allocator": ("change a setting", "switch the allocator")}
"""Advice of a headline, where that is more than itself."""

_NOTHING = {"nothing", "inconclusive"}


@dataclass(frozen=True)
class Verdict:
    """What is compared of a verdict."""

    headline: str
    findings: list[tuple[str, str]]
    """Causes, each with its status."""


@dataclass(frozen=True)
class Judged:
    """The outcome, and what was said in a few words."""

    outcome: Outcome
    said: str


def of_wall(suspicions: Sequence[Suspicion], said: Said, *, cured: bool) -> Judged:
    """A false suspicion is wrong, wherever it stands; if the true one is not there, that is inconclusive."""
    stated = [each.cause for each in suspicions]
    first = stated[0] if stated else ""
    return Judged(_of_causes(first, set(stated), said, cured=cured), ", ".join(stated) or "nothing")


def of_rss(verdict: ResidenceVerdict, said: Said, *, cured: bool) -> Judged:
    """A part that is not the large one is wrong, and so is another allocator against scattered survivors."""
    remedies = ", ".join(each.allocator for each in verdict.remedies if each.allocator)
    words = verdict.cause + (f", advised {remedies}" if remedies else "")
    specific = {verdict.cause} - _NOTHING - {"files", "written", "shared", "heap", "other"}
    if remedies and (cured or "inside" in said.beside):
        return Judged("wrong", words)
    return Judged(_of_causes(verdict.cause, specific, said, cured=cured), words)


def of_run(diagnosis: Diagnosis, advice: Advice, *, cured: bool) -> Judged:
    """A false headline is wrong, and so is a fault told of the twin; an untold one is inconclusive."""
    told = " ".join([diagnosis.paragraph, *(each.sentence for each in diagnosis.findings)])
    tells = bool(advice.tells) and advice.tells in told
    words = diagnosis.headline + (f", {advice.tells}" if tells else "")
    if diagnosis.headline in advice.never or (cured and tells):
        return Judged("wrong", words)
    if cured or not advice.tells:
        return Judged("inconclusive" if diagnosis.headline == "inconclusive" else "right", words)
    return Judged("right" if tells else "inconclusive", words)


def of_truth(headline: str, findings: Iterable[tuple[str, str]], truth: Truth) -> Outcome:
    """A verdict held against a program's truth: `findings` are causes, each with its status.

    A conclusion that is not among the right ones is wrong, and so is a proven cause that would be false, or a
    true one refuted. *inconclusive* is neither, unless it is the first of the right ones. *little to gain* is
    wrong where an arm gains what matters by hand.
    """
    proven = {cause for cause, status in findings if status == "proven"}
    if proven & set(truth.never):
        return "wrong"
    if headline == "inconclusive":
        return "right" if truth.conclusions[0] == "inconclusive" else "inconclusive"
    if headline == LITTLE:
        return "wrong" if truth.gain else "right"
    return "right" if set(ADVISED.get(headline, (headline,))) <= set(truth.conclusions) else "wrong"


OF_SETTINGS = {
    "a setting helps": ("leave it alone",),
    "leave the settings alone": ("change a setting", "change a setting or the allocator"),
}
"""Conclusions of `tune`, which tries settings alone, with those of `run` and `wall` that deny them."""


def against_settings(settings: str, verdict: Verdict) -> list[str]:
    """What the conclusion of `tune` and a verdict of `run` or `wall` say against each other."""
    denied = verdict.headline in OF_SETTINGS.get(settings, ())
    return [f"{settings} and {verdict.headline}"] if denied else []


def contradictions(one: Verdict, other: Verdict) -> list[str]:
    """What two verdicts on one program say against each other; what one leaves open contradicts nothing."""
    said = []
    headlines = [one.headline, other.headline]
    advised = [set(ADVISED.get(each, (each,))) for each in headlines]
    if not {"inconclusive", LITTLE} & set(headlines) and not advised[0] & advised[1]:
        said.append(" and ".join(sorted(headlines)))
    for first, second in ((one, other), (other, one)):
        proven = {cause for cause, status in first.findings if status == "proven"}
        refuted = {cause for cause, status in second.findings if status == "refuted"}
        said += [f"{cause} is proven and refuted" for cause in sorted(proven & refuted)]
    return said


def of_share(part: float, truth: float) -> Judged:
    """Within five points of the truth."""
    said = f"{part:.1%} for {truth:.1%}"
    return Judged("right" if abs(part - truth) <= POINTS else "wrong", said)


def _of_causes(first: str, stated: set[str], said: Said, *, cured: bool) -> Outcome:
    true = set(said.twin) if cured else {said.cause, *said.beside}
    if stated - true:
        return "wrong"
    if cured:
        return "inconclusive" if first == "inconclusive" else "right"
    named = first == said.cause or (not said.first and said.cause in stated)
    return "right" if named else "inconclusive"
