"""A sweep as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Iterable, Sequence

import markupsafe

from reap.base import units
from reap.base.text import command_line
from reap.compare.phrases import METRICS
from reap.draw import heat, html
from reap.sweep import terminal
from reap.sweep.judge import headline, on, title, told
from reap.sweep.records import Answer, Effect, SweepResult


def page(result: SweepResult, answers: Sequence[Answer], made_by: list[str]) -> str:
    """The answers, a heat map of kinds and allocators for each cell, and every effect."""
    compared = told(result)
    drawings = [
        markupsafe.Markup(drawing)  # noqa: S704 - every word is escaped
        for drawing in _drawings(compared)
    ]
    return html.page(
        "sweep/page.html.j2",
        title="Which allocator, on which machine?",
        headline=headline(answers) if answers else "Nothing could be compared.",
        answers=[
            (title(effect), effect.allocator, answer.standing, _overall(effect), _proven(effect))
            for effect, answer in zip(compared, answers, strict=True)
        ],
        drawings=drawings,
        baseline=result.baseline,
        rows=[_row(each) for each in result.effects],
        provenance=terminal.provenance(result),
        notes=[*result.dropped, *result.notes],
        machines=[(kind, _hosts(result, kind)) for kind in result.kinds],
        made_by=command_line(made_by),
    )


def _drawings(compared: Sequence[Effect]) -> Iterable[str]:
    """One for each cell at a level."""
    for name in dict.fromkeys(map(title, compared)):
        own = [each for each in compared if title(each) == name]
        kinds = dict.fromkeys(kind.kind for each in own for kind in each.kinds)
        squares = {
            (kind.kind, each.allocator): heat.Square(
                kind.ratio.value,
                kind.proven in ("better", "worse"),
                f"{each.allocator} on {kind.kind}: {terminal.said(kind.ratio)}, "
                f"{units.many(kind.rounds, 'round')} on {units.many(kind.machines, 'machine')}",
            )
            for each in own
            for kind in each.kinds
            if kind.ratio is not None
        }
        yield heat.draw(name, list(kinds), [each.allocator for each in own], squares)


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
