"""Choice of what a search tries next: pure decisions, so that a resumed search goes on as it would have gone.

Two quarters and the rest, in the manner of successive halving (K. Jamieson and A. Talwalkar, "Non-stochastic
Best Arm Identification and Hyperparameter Optimization", AISTATS 2016): all options once; the best again,
with milder forms of them and with all that seemed to help put together; then what won, in rounds of its own.
The best of many is biased: only those last rounds, which had no part in choosing it, say what it gains.
"""

import math
from collections.abc import Callable, Collection, Mapping, Sequence

from reap.allocators.knobs import MEMORY, Objective
from reap.compare.thresholds import FEWEST_ROUNDS
from reap.experiment import sequential
from reap.experiment.spec import Option
from reap.experiment.statistics import LEVEL
from reap.tune.records import LEAST_GAIN, Look

LEAST_RUNS = 28
"""Fewer leave too few rounds of confirmation for a verdict."""
COPIES = 2
"""The baseline runs twice a round."""
LEAST_CONFIRMED = FEWEST_ROUNDS
"""Rounds without which a confirmation confirms nothing."""

_AS_GOOD = 0.1
"""A setting that lacks less than this share of the best one's gain is as good."""
_WORTH_ADDING = 0.25
"""What gains less than this share of the best one's gain is not put together with it."""
_MOST_UNREST = 0.05
"""However restless the machine is, a setting that seems worse by more than this is not as good."""

Score = Callable[[str, Objective], float]
"""The logarithm of an option's ratio, by its name."""


def part(most: int) -> int:
    """Number of runs of each of the search's two parts; the rest is for the look and the confirmation."""
    return most // 4


def first(options: Sequence[Option], objectives: Sequence[Objective], look: Look, most: int) -> list[Option]:
    """Options that are tried at all: of use for an objective; those that the look speaks for come first."""
    useful = [each for each in options if set(each.may) & set(objectives)]
    ordered = sorted(useful, key=lambda each: -_speaks_for(each, look))
    return ordered[: max(2, part(most) - COPIES)]


def _speaks_for(option: Option, look: Look) -> float:
    signs = {
        "user": 1 - look.system_share,
        "system": look.system_share,
        "threads": min(1.0, max(0.0, look.parallel - 1)),
    }
    return signs.get(option.sign, 0.0)


def rounds(arms: int, runs: int) -> int:
    """Number of rounds of `arms` arms and the baseline's copies in `runs` runs; at least one."""
    return max(1, runs // (arms + COPIES))


def confirming(arms: int, runs: int) -> int:
    """Maximum number of rounds that confirm `arms` arms in `runs` runs.

    An interim look soon before the end widens the intervals and spares nothing: then the end is the look.
    """
    wanted = min(rounds(arms, runs), sequential.MAX_ROUNDS)
    look = sequential.LOOKS[0]
    return look if look < wanted < 2 * look else wanted


def second(
    tried: Sequence[Option],
    objectives: Sequence[Objective],
    score: Score,
    unrest: Mapping[Objective, float],
    most: int,
) -> list[Option]:
    """The best of the first part, all that helps put together, milder forms, and who came next."""
    leaders, together, milder, others = [], [], [], []
    for what in objectives:
        ordered = sorted(tried, key=lambda each: score(each.name, what))
        if not ordered:
            continue
        best = score(ordered[0].name, what)
        leaders.append(ordered[0])
        others += ordered[1:3]
        if promising(best, unrest[what]):
            milder += ordered[0].milder
            worth = min(_WORTH_ADDING * best, -LEAST_GAIN, -unrest[what])
            together.append(union([each for each in ordered if score(each.name, what) < worth]))
    wanted = [*leaders, *filter(None, together), *milder, *others]
    return list({each.name: each for each in wanted}.values())[: max(2, part(most) // 2)]


def level(confirmed: Collection[Objective]) -> float:
    """Of each interval, by Bonferroni: of several settings one may look better by chance."""
    return 1 - (1 - LEVEL) / max(1, len(confirmed))


def promising(score: float, unrest: float) -> bool:
    """Whether it seems to gain something, beyond what the baseline's copies differ by."""
    return score < -max(LEAST_GAIN, unrest)


def union(options: Sequence[Option]) -> Option | None:
    """All of them at once, the first's words before the others'; None where that is no other than one."""
    words: dict[str, str] = {}
    for option in options:
        if option.variant == "default" and not words.keys() & option.words.keys():
            words |= option.words
    parts = [each for each in options if each.variant == "default" and each.words.items() <= words.items()]
    if len(parts) < 2:
        return None
    return Option(
        name=" and ".join(each.name for each in parts),
        about="; ".join(each.about for each in parts),
        words=words,
        may=list(dict.fromkeys(what for each in parts for what in each.may)),
        needs=next((each.needs for each in parts if each.needs), ""),
    )


def choice(
    tried: Sequence[Option], what: Objective, score: Score, unrest: Mapping[Objective, float]
) -> Option | None:
    """The best for an objective; of those that seem as good, what costs, asks of the machine and sets least.

    None where nothing has a score: all was given up, or the program as it is failed.
    """
    best = min((score(each.name, what) for each in tried), default=math.inf)
    if best == math.inf:
        return None
    reach = max(LEAST_GAIN, min(unrest[what], _MOST_UNREST), -best * _AS_GOOD)
    near = [each for each in tried if score(each.name, what) <= best + reach]
    other: Objective = "cpu" if what in MEMORY else "memory"

    def cost(option: Option) -> float:
        more = score(option.name, other)
        return round(more, 1) if more > unrest.get(other, 0) else 0.0

    def burden(option: Option) -> tuple[float, bool, int, bool, float]:
        words = max(1, len(option.words))
        return cost(option), bool(option.needs), words, bool(option.milder), score(option.name, what)

    return min(near, key=burden)


def finalists(
    chosen: Mapping[Objective, Option], score: Score, unrest: Mapping[Objective, float], left: int
) -> dict[Objective, Option]:
    """Options to confirm in `left` runs: the most promising first; if none is promising, the first anyway."""
    hopeful = [what for what, option in chosen.items() if promising(score(option.name, what), unrest[what])]
    hopeful = sorted(hopeful, key=lambda what: score(chosen[what].name, what)) or list(chosen)[:1]
    kept: dict[Objective, Option] = {}
    for what in hopeful:
        arms = {each.name for each in kept.values()} | {chosen[what].name}
        if not kept or left // (len(arms) + COPIES) >= LEAST_CONFIRMED:
            kept[what] = chosen[what]
    return kept
