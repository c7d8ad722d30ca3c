"""Controls, which ought to show nothing: where one shows something, the method may, too. Pure functions."""

from collections.abc import Iterable, Iterator

from reap.api import Estimate, Fragmented, units
from reap_studies.study.judging import programs
from reap_studies.study.judging.bounds import MARGIN, at_most
from reap_studies.study.judging.ratios import each_arm, estimate, results
from reap_studies.study.records import Measured


def failures(measured: Iterable[Measured]) -> list[str]:
    """A sentence for each control that is off 1, with those of its figures that are.

    A control that is a program is off where its interval does not hold 1. Of the many that experiments have
    (a baseline to itself, an idle preload, a heap littered and emptied) one interval in twenty misses 1 by
    chance, so that these are off where they are by more than MARGIN, the least that a claim is about.
    """
    off: dict[str, list[str]] = {}
    for what, where, ratio in [*_programs(measured), *_own(measured)]:
        off.setdefault(what, []).append(f"{where} {units.ratio_with_interval(ratio)}")
    return [f"{what} ought to be 1, and is not: {'; '.join(figures)}." for what, figures in off.items()]


def _programs(measured: Iterable[Measured]) -> Iterator[tuple[str, str, Estimate]]:
    for each in measured:
        arms = each_arm([each], None, "adv0", _to_custom, at_most(1)) if each.card.control else []
        effect = programs.mean(arms)
        if effect is not None and not effect.low <= 1 <= effect.high:
            yield "Naive to custom of a program chosen as a control", each.card.name, effect


def _to_custom(result: Fragmented, allocator: str, level: str) -> Estimate | None:
    return estimate(result.arm("naive", allocator, level), "to_custom")


def _own(measured: Iterable[Measured]) -> Iterator[tuple[str, str, Estimate]]:
    for each, result in results(measured):
        name = each.card.name
        shown = [("A baseline to itself", name, noise.ratio)] if (noise := result.noise.get("cpu")) else []
        for control in result.controls:
            where = f"{name} ({control.variant} over {control.allocator})"
            if control.preload:
                shown.append(("An idle preload", where, control.preload.ratio))
            if control.emptied:
                shown.append(("A heap littered and emptied", where, control.emptied.ratio))
        for what, where, ratio in shown:
            if ratio.low > MARGIN or ratio.high < 1 / MARGIN:
                yield what, where, ratio
