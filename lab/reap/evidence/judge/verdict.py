"""The verdict: is this program at the allocator's wall, on which side of the knee, and what would help?"""

from reap.base import units
from reap.evidence.judge import causes as wall_causes
from reap.evidence.judge import others as wall_others
from reap.evidence.judge import thresholds as at
from reap.evidence.judge import words
from reap.evidence.judge.facts import WallFacts
from reap.evidence.judge.records import (
    BY_SAMPLES,
    CAN_BE_SAVED,
    OF_MEMORY,
    OF_THE_ALLOCATOR,
    Regime,
    Suspicion,
    WallVerdict,
)
from reap.evidence.records import Wall


def judge(wall: Wall) -> WallVerdict:
    """The verdict on a program. Pure: the same facts give the same verdict, whatever the program is called.

    Each rule of `wall_causes` and `wall_others` says what it suspects, with about what part of the program's
    time that takes; the heaviest that is worth a change is the cause, and the rest is told beside it.
    """
    facts = WallFacts(wall)
    every = [rule(facts) for rule in (*wall_causes.RULES, *wall_others.RULES)]
    found = sorted((each for each in every if each is not None), key=lambda each: -each.weight)
    if not facts.enough_samples:
        found = [each for each in found if each.cause not in BY_SAMPLES]
    worth = [each for each in found if each.weight >= at.CAUSE_WORTH]
    if not worth:
        return _without_cause(facts, found)
    first, *others = worth
    return WallVerdict(
        cause=first.cause,
        regime=_regime(facts, worth),
        paragraph=words.paragraph(facts, first, _regime(facts, worth), others),
        evidence=[
            *first.statements,
            *(said for each in others if each.cause in OF_MEMORY for said in each.statements),
            *words.evidence(facts),
        ],
        remedies=first.remedies,
        weight=first.weight,
        expect=first.saves if first.cause in CAN_BE_SAVED else None,
        others=others,
    )


def _without_cause(facts: WallFacts, found: list[Suspicion]) -> WallVerdict:
    why = _cannot_tell(facts)
    if why:
        return WallVerdict(
            cause="inconclusive",
            regime="inconclusive",
            paragraph=why,
            evidence=words.evidence(facts),
            remedies=[],
        )
    return WallVerdict(
        cause="nothing",
        regime="not the wall",
        paragraph=words.nothing(facts),
        evidence=[
            *[said for each in found if each.weight >= at.WORTH_TELLING for said in each.statements],
            *words.evidence(facts),
        ],
        remedies=[],
    )


def _cannot_tell(facts: WallFacts) -> str:
    """Why nothing may be said, a sentence; empty where something may be."""
    if facts.cpu < at.TOO_SHORT and facts.elapsed < 5 * at.TOO_SHORT:
        return (
            f"The program ended after {units.duration(facts.elapsed)}, with {units.duration(facts.cpu)} of "
            "CPU time: too short to measure. Give it more work, so that it runs for about a second; "
            "if it continues in the background, watch it with --pid."
        )
    idle = facts.elapsed > 0 and facts.cpu / facts.elapsed < at.CAUSE_WORTH
    if idle:
        return ""
    if facts.share is None:
        return (
            "Its CPU time could not be sampled, so whether it is at the wall is not known. `reap doctor` "
            "reports what prevents sampling on this machine."
        )
    if not facts.enough_samples:
        return (
            f"{facts.samples} samples of CPU time are too few to say where it went. Give the program "
            "more work, so that it runs for a second or so."
        )
    return ""


def _regime(facts: WallFacts, worth: list[Suspicion]) -> Regime:
    """Where the program is on the curve of cost against allocations.

    Left of the knee the allocator is on its fast path, so that another one changes little. Right of it, it
    waits for its lock, asks the kernel, or searches its bins.
    """
    causes = [each.cause for each in worth if each.cause in OF_THE_ALLOCATOR]
    if facts.past_malloc is not None:
        causes = [each for each in causes if each != "page faults"]
    if not causes:
        return "not the wall" if facts.share is not None or worth[0].cause in OF_MEMORY else "inconclusive"
    if causes[0] != "many allocations":
        return "right of the knee"
    return "left of the knee" if facts.pair is not None else "inconclusive"
