"""From the facts of a program to suspicions, heaviest first. Pure: no trial has been run."""

from reap.evidence.analyse.suspicions import causes, others
from reap.evidence.analyse.suspicions import thresholds as at
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import BY_SAMPLES, Suspicion
from reap.evidence.records import Wall
from reap.recording.analyse import estimates


def suspect(wall: Wall, least: float = at.CAUSE_WORTH) -> list[Suspicion]:
    """Causes of at least this weight, heaviest first: those that are worth a word, unless it is lower.

    The same facts give the same suspicions, whatever the program is called. Causes that only samples show are
    left out where these are too few.
    """
    facts = WallFacts(wall)
    if facts.too_short:
        return []
    every = [rule(facts) for rule in (*causes.RULES, *others.RULES)]
    found = sorted((each for each in every if each is not None), key=lambda each: -each.weight)
    return [
        each
        for each in found
        if each.weight >= least and (facts.enough_samples or each.cause not in BY_SAMPLES)
    ]


def to_try(wall: Wall) -> list[Suspicion]:
    """Causes that may be worth a trial, heaviest first: a gain that nobody suspected is a gain, too.

    A share of samples counts by the upper end of its interval: two looks at one program try the same.
    """
    samples = WallFacts(wall).samples
    return [each for each in suspect(wall, at.WORTH_A_LOOK) if _at_most(each, samples) >= at.WORTH_TRYING]


def _at_most(suspicion: Suspicion, samples: int) -> float:
    """Its weight; of what samples alone show the most that it may be."""
    if suspicion.cause not in BY_SAMPLES or not samples:
        return suspicion.weight
    return max(suspicion.weight, estimates.proportion(round(suspicion.weight * samples), samples).high)
