"""A sweep as one HTML page that needs nothing else and runs nothing."""

from collections.abc import Iterable, Sequence

import markupsafe

from reap.base import units
from reap.base.text import command_line
from reap.compare.phrases import METRICS
from reap.draw import heat, html
from reap.sweep import terminal
from reap.sweep.judge import METRIC, title
from reap.sweep.records import Answer, Effect, SweepResult


def page(result: SweepResult, answers: Sequence[Answer], made_by: list[str]) -> str:
    """The answers, a heat map of kinds and allocators for each cell, and every effect."""
    drawings = [
        markupsafe.Markup(drawing)  # noqa: S704 - every word is escaped
        for drawing in _drawings(result.effects)
    ]
    return html.page(
        "sweep/page.html.j2",
        title="Which allocator, on which machine?",
        answers=[each.sentence for each in answers],
        drawings=drawings,
        baseline=result.baseline,
        rows=[_row(each) for each in result.effects],
        provenance=terminal.provenance(result),
        notes=[*result.dropped, *result.notes],
        machines=[(kind, _hosts(result, kind)) for kind in result.kinds],
        made_by=command_line(made_by),
    )


def _drawings(effects: Sequence[Effect]) -> Iterable[str]:
    """One for each cell at a level."""
    shown = [each for each in effects if each.metric == METRIC and not each.noise]
    for name in dict.fromkeys(map(title, shown)):
        own = [each for each in shown if title(each) == name]
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
    told = effect.overall or effect.kinds[0].ratio
    found = effect.heterogeneity
    differ = (
        (units.percent(found.between), units.percent(found.share), f"{found.p:.2g}")
        if found
        else ("", "", "")
    )
    return (title(effect), name, METRICS[effect.metric], terminal.said(told), *differ)


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
