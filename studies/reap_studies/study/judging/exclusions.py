"""Which figures are evidence: one table for all claims and both sides, fixed before any data. Pure functions.

No rule of a claim leaves a program out: it finds what it can of all, and `marked` says what does not count,
and why. Lifting an exclusion counts what it alone leaves out.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from reap_studies.study.records import Finding
from reap_studies.workloads.records import Card

OURS = "reap"
"""The package of a program that was written for these studies."""


@dataclass(frozen=True)
class Evidence:
    """What the exclusions look at: cards, the papers' programs, and calibration by the artefact."""

    cards: Mapping[str, Card] = field(default_factory=dict)
    """By name, of all that was measured."""
    originals: Collection[str] = ()
    """The paper's own programs, in whatever version."""
    departing: Collection[str] = ()
    """Stand-ins that depart from what the authors measured of the programs they stand for."""


@dataclass(frozen=True)
class Topic:
    """What a claim is about, as far as exclusions depend on that."""

    about: Collection[str] = ()
    """Names of exclusions: the claim is about what these leave out."""
    fragmented: bool = False
    """Whether heaps are fragmented."""
    naive: bool = False
    """Whether only programs without their own allocators are compared."""


@dataclass(frozen=True)
class Exclusion:
    """A reason why a program says nothing of a claim."""

    name: str
    why: str
    """As a sentence about a program."""
    leaves_out: Callable[[Card, Evidence], bool]
    of_fragmentation: bool = False
    """Whether it is one only for claims about fragmented heaps."""
    of_custom: bool = False
    """Whether it is none for claims about programs without their own allocators."""


TABLE = (
    Exclusion("toy", "it was written for this study", lambda card, _: card.origin.package == OURS),
    Exclusion(
        "stand-in",
        "it departs from the artefact's data of the program that it stands for",
        lambda card, evidence: card.name in evidence.departing,
    ),
    Exclusion("control", "it is a control: it tests the method", lambda card, _: card.control),
    Exclusion("microbenchmark", "it is no program", lambda card, _: card.microbenchmark),
    Exclusion(
        "partial",
        "malloc serves a part of it in both variants",
        lambda card, _: bool(card.partial),
        of_custom=True,
    ),
    Exclusion(
        "unreached",
        "its chunks come from the system, where no litter is",
        lambda card, _: card.chunks_from == "system",
        of_fragmentation=True,
        of_custom=True,
    ),
)
"""Every exclusion that there is."""


def reasons(card: Card, evidence: Evidence, topic: Topic) -> list[str]:
    """Names of the exclusions that leave the program out."""
    return [
        each.name
        for each in TABLE
        if each.name not in topic.about
        and (topic.fragmented or not each.of_fragmentation)
        and not (topic.naive and each.of_custom)
        and each.leaves_out(card, evidence)
    ]


def marked(findings: Iterable[Finding], evidence: Evidence, topic: Topic) -> list[Finding]:
    """Findings with the names of what excludes each; nothing excludes what has no card."""
    return [
        msgspec.structs.replace(
            each,
            excluded=reasons(evidence.cards[each.workload], evidence, topic)
            if each.workload in evidence.cards
            else [],
            original=each.workload in evidence.originals,
        )
        for each in findings
    ]


def counted(findings: Iterable[Finding], lifted: Collection[str] = ()) -> list[Finding]:
    """Findings that nothing excludes but what is lifted."""
    return [each for each in findings if set(each.excluded) <= set(lifted)]


def counts(card: Card, evidence: Evidence | None = None) -> bool:
    """Whether averages of pages, which are about no fragmented heap, include the program."""
    return not reasons(card, evidence or Evidence(), Topic())
