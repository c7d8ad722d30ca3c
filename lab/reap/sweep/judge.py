"""Meaning of the effects over machines. Pure functions."""

from collections import Counter
from collections.abc import Sequence

from reap.answer.words import listed
from reap.base import units
from reap.compare.phrases import METRICS, amount, change_with_interval, interval
from reap.experiment.records import BARE
from reap.sweep.records import Answer, Effect, KindEffect, Standing, SweepResult

METRIC = "cpu"
"""What an answer is about: it is comparable whether runs shared a core or not."""
DIFFER = 0.05
"""Machines are called different where chance alone would make them so less often."""
_KINDS = 3
"""Kinds of machine that a sentence names; there may be dozens."""
_ALONE: dict[Standing, str] = {
    "helps": "helps",
    "harms": "is slower",
    "helps here, harms there": "depends on the machine",
    "equivalent": "is equivalent",
    "inconclusive": "is inconclusive",
}
"""What an allocator does to a single program."""
_OTHERS: dict[Standing, str] = {
    "harms": "slower",
    "helps here, harms there": "depending on the machine",
    "equivalent": "equivalent",
    "inconclusive": "inconclusive",
}
"""How the programs are counted that an allocator does not help."""


def judge(result: SweepResult) -> list[Answer]:
    """An answer for each cell, level and allocator."""
    return [_answer(effect, result) for effect in told(result)]


def told(result: SweepResult) -> list[Effect]:
    """The effects that answers are about, in their order."""
    return [each for each in result.effects if each.metric == METRIC and not each.noise]


def headline(answers: Sequence[Answer]) -> str:
    """All answers in a sentence: that of the only one, else how many programs each allocator helps."""
    if len(answers) == 1:
        return answers[0].sentence
    allocators = list(dict.fromkeys(each.allocator for each in answers))
    said = "; ".join(
        _of_allocator([each for each in answers if each.allocator == name]) for name in allocators
    )
    return f"{said}."


def _of_allocator(answers: Sequence[Answer]) -> str:
    """Summary of an allocator's comparisons: `mimalloc helps 1 of 2 programs (1 equivalent)`."""
    if len(answers) == 1:
        return f"{answers[0].allocator} {_ALONE[answers[0].standing]}"
    counts = Counter(each.standing for each in answers)
    what = "program" if all(each.level == BARE for each in answers) else "comparison"
    others = [f"{counts[each]} {word}" for each, word in _OTHERS.items() if counts[each]]
    helped = f"{answers[0].allocator} helps {counts['helps'] or 'none'} of {units.many(len(answers), what)}"
    return f"{helped}{f' ({listed(others)})' if others else ''}"


def title(effect: Effect | Answer) -> str:
    """The cell, and its level where that is not bare."""
    return effect.cell if effect.level == BARE else f"{effect.cell} at {effect.level}"


def _answer(effect: Effect, result: SweepResult) -> Answer:
    subject = f"{title(effect)}: {effect.allocator}"
    if effect.helps and effect.harms:
        helps, harms = (on(effect.kinds, names) for names in (effect.helps, effect.harms))
        sentence = f"{subject} helps on {helps} and harms on {harms}: no single answer holds."
        return _made(effect, "helps here, harms there", sentence)
    ratio = effect.overall or effect.kinds[0].ratio
    if ratio is None:
        return _made(effect, "inconclusive", f"{subject}: too few rounds for an interval.")
    name = METRICS[METRIC]
    if effect.verdict in ("better", "worse"):
        where = "" if effect.overall else " on the one machine that it was run on"
        said = f"{subject} takes {amount(ratio.value, name)} (95 % CI {interval(ratio)}){where}."
        return _made(effect, "helps" if effect.verdict == "better" else "harms", said + _differ(effect))
    if effect.verdict == "equivalent":
        said = f"{subject} changes {name} by less than {units.percent(result.worth)}"
        return _made(effect, "equivalent", f"{said}: {change_with_interval(ratio)}.{_differ(effect)}")
    said = f"{subject} is inconclusive: {amount(ratio.value, name)} (95 % CI {interval(ratio)})."
    proven = [f"it helps on {on(effect.kinds, effect.helps)}"] if effect.helps else []
    proven += [f"it harms on {on(effect.kinds, effect.harms)}"] if effect.harms else []
    return _made(
        effect, "inconclusive", said + (f" But {listed(proven)}." if proven else "") + _differ(effect)
    )


def _made(effect: Effect, standing: Standing, sentence: str) -> Answer:
    return Answer(
        cell=effect.cell,
        allocator=effect.allocator,
        level=effect.level,
        standing=standing,
        sentence=sentence,
    )


def on(kinds: Sequence[KindEffect], names: Sequence[str]) -> str:
    """Kinds with what they say: `zen4 (9.8 % less)`."""
    said = [
        f"{each.kind} ({units.change(each.ratio.value)})"
        for each in kinds
        if each.kind in names and each.ratio is not None
    ]
    more = len(said) - _KINDS
    return listed([*said[:_KINDS], *([f"{more} more kinds"] if more > 0 else [])])


def _differ(effect: Effect) -> str:
    found = effect.heterogeneity
    if found is None or found.p >= DIFFER:
        return ""
    return f" Machines differ: the standard deviation from one to another is {units.percent(found.between)}."
