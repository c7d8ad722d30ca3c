"""A sweep as one HTML page that needs nothing else and runs nothing."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from reap.base import units
from reap.base.text import command_line
from reap.compare.phrases import METRICS
from reap.draw import html
from reap.sweep import terminal
from reap.sweep.judge import headline, on, title, told
from reap.sweep.records import Answer, Effect, KindEffect, SweepResult

_STRONGEST = math.log(1.5)
"""The logarithm of a ratio from which on a colour is at its strongest."""


@dataclass(frozen=True)
class Square:
    """One square of a heat map; the figure is in it, so nothing is said by colour alone."""

    figure: str
    colour: str
    strength: str
    """Part of the colour, 0 to 1: pale where the difference is small or not proven."""
    proven: bool
    said: str


def page(result: SweepResult, answers: Sequence[Answer], made_by: list[str]) -> str:
    """The answers, a heat map of kinds and allocators for each cell, and every effect."""
    compared = told(result)
    return html.page(
        "sweep/page.html.j2",
        title="Which allocator, on which machine?",
        headline=headline(answers) if answers else "Nothing could be compared.",
        answers=[
            (title(effect), effect.allocator, answer.standing, _overall(effect), _proven(effect))
            for effect, answer in zip(compared, answers, strict=True)
        ],
        maps=list(_maps(compared)),
        baseline=result.baseline,
        rows=[_row(each) for each in result.effects],
        provenance=terminal.provenance(result),
        notes=[*result.dropped, *result.notes],
        machines=[(kind, _hosts(result, kind)) for kind in result.kinds],
        made_by=command_line(made_by),
    )


def _maps(
    compared: Sequence[Effect],
) -> Iterable[tuple[str, list[str], list[tuple[str, list[Square | None]]]]]:
    """One for each cell at a level: its name, the allocators, and the squares of each kind of machine."""
    for name in dict.fromkeys(map(title, compared)):
        own = [each for each in compared if title(each) == name]
        squares = {
            (kind.kind, each.allocator): _square(each.allocator, kind) for each in own for kind in each.kinds
        }
        allocators = [each.allocator for each in own]
        kinds = dict.fromkeys(kind for kind, _ in squares)
        yield name, allocators, [(kind, [squares.get((kind, each)) for each in allocators]) for kind in kinds]


def _square(allocator: str, kind: KindEffect) -> Square | None:
    if (ratio := kind.ratio) is None:
        return None
    proven = kind.proven in ("better", "worse")
    strength = 0.1 + 0.35 * min(1.0, abs(math.log(ratio.value)) / _STRONGEST) if proven else 0.06
    return Square(
        figure=f"{'' if proven else '~'}{units.ratio(ratio.value)}",
        colour="blue" if ratio.value < 1 else "orange",
        strength=f"{strength:.2f}",
        proven=proven,
        said=f"{allocator} on {kind.kind}: {terminal.said(ratio)}, "
        f"{units.many(kind.rounds, 'round')} on {units.many(kind.machines, 'machine')}",
    )


def _row(effect: Effect) -> tuple[str, ...]:
    name = f"{effect.allocator} again" if effect.noise else effect.allocator
    found = effect.heterogeneity
    differ = (
        (units.percent(found.between), units.percent(found.share), f"{found.p:.2g}")
        if found
        else ("", "", "")
    )
    return (title(effect), name, METRICS[effect.metric], _overall(effect), *differ)


def _overall(effect: Effect) -> str:
    """For machines like these; of a single machine, that machine's."""
    return terminal.said(effect.overall or effect.kinds[0].ratio)


def _proven(effect: Effect) -> str:
    """The kinds of machine that are proven to gain or to lose."""
    return "; ".join(
        f"{verb} on {on(effect.kinds, names)}"
        for verb, names in (("helps", effect.helps), ("harms", effect.harms))
        if names
    )


def _hosts(result: SweepResult, kind: str) -> str:
    hosts = {each.host for effect in result.effects for each in effect.machines if each.kind == kind}
    of = next(each for each in result.machines if each.host in hosts)
    here = of.machine
    builds = "; ".join(f"{name}: {origin}" for name, origin in of.allocators.items())
    return (
        f"{units.many(len(hosts), 'machine')} such as {of.host}: {here.processor}, "
        f"{units.many(here.cores, 'core')}, {here.kernel}, {here.system}, {here.libc}, "
        f"transparent huge pages {here.huge_pages or 'unknown'}. {builds}"
    )
