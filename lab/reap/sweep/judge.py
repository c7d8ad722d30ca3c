"""What the effects over machines mean. Pure functions."""

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
_STANDINGS: dict[Standing, tuple[str, str]] = {
    "helps": ("helps", "help"),
    "harms": ("harms", "harm"),
    "helps here, harms there": ("depends on the machine", "depend on the machine"),
    "equivalent": ("is equivalent", "are equivalent"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
}
"""What one answer does, and what several do."""


def judge(result: SweepResult) -> list[Answer]:
    """An answer for each cell, level and allocator."""
    return [_answer(effect, result) for effect in told(result)]


def told(result: SweepResult) -> list[Effect]:
    """The effects that answers are about, in their order."""
    return [each for each in result.effects if each.metric == METRIC and not each.noise]


def headline(answers: Sequence[Answer]) -> str:
    """All answers in a sentence: that of the only one, else how many help and how many do not."""
    if len(answers) == 1:
        return answers[0].sentence
    counts = Counter(each.standing for each in answers)
    said = [
        f"{counts[standing]} {words[counts[standing] > 1]}"
        for standing, words in _STANDINGS.items()
        if counts[standing]
    ]
    return f"Of {units.many(len(answers), 'comparison')} {listed(said)}."


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
