"""The figures of the study of general-purpose allocators."""

import markupsafe

from reap.api import units
from reap_studies.study.allocators.analyse import between, speedup
from reap_studies.study.allocators.records import Consumption
from reap_studies.study.allocators.setups import EVALUATIONS, locality, scaling
from reap_studies.study.drawing import curves as curves_svg
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.drawing.curves import Line
from reap_studies.study.records import Evaluated
from reap_studies.study.view import FigureView, drawn

_BASE = "glibc"
_MOST_POINTS = 400
_RESERVED = 8
"""Who asks for more than so many times what is ever resident reserves addresses: it would hide all else."""


def figures(found: Evaluated) -> list[FigureView]:
    """Figures 1 to 3."""
    return [_locality(found), _speedups(found), _memory(found)]


def _locality(found: Evaluated) -> FigureView:
    groups = []
    for times in EVALUATIONS:
        setup = found.named(locality(times))
        names = [each.allocator for each in setup.sound if each.allocator != _BASE] if setup else []
        bars = [Bar(name, between(setup, name, _BASE), number) for number, name in enumerate(names)]
        groups.append((f"{times}:", bars))
    drawings = [drawn("Running time to glibc's, by number of evaluations", groups)]
    return FigureView(
        "Figure 1. Locality",
        f"{found.threads} threads, the same blocks for every number of evaluations. The paper: with 1 "
        "evaluation 0.54 to 1.11, with 1000 0.84 to 0.88, dlmalloc 7.2 and 1.5.",
        drawings if any(bars for _, bars in groups) else [],
    )


def _speedups(found: Evaluated) -> FigureView:
    scaled = [each for each in found.timed if each.name == scaling(each.threads) and each.threads > 1]
    first = found.named(scaling(1))
    groups = []
    for own in first.sound if first else []:
        bars = [
            Bar(f"{each.threads} threads", speedup(found, own.allocator, scaling(1), each.name), number)
            for number, each in enumerate(scaled)
        ]
        groups.append((own.allocator, bars))
    drawings = [drawn("How many times as fast as with one thread", groups)]
    return FigureView(
        "Figure 2. Scalability",
        f"10 evaluations. This machine has {found.threads} cores for it; more threads share them. "
        "The paper: with four threads on four cores 3.6 to 3.8, glibc 1.9, dlmalloc 0.5.",
        drawings if groups and scaled else [],
    )


def _memory(found: Evaluated) -> FigureView:
    runs = [each for each in (found.consumed.runs if found.consumed else []) if each.calls]
    return FigureView(
        "Figure 3. Memory over time",
        f"{found.threads} threads, 1 evaluation; a point for every thousandth call of malloc or free. What "
        "was asked of the system is counted by its calls: memory that is never touched is in it, address "
        "space that is only reserved is not. Each drawing is of the first run and has a scale of its own.",
        [_curves(each) for each in runs],
        whiskers=False,
    )


def drawn_places(run: Consumption) -> range:
    """The places in its lists that are drawn: some hundreds of what may be many thousands."""
    return range(0, len(run.calls), max(1, len(run.calls) // _MOST_POINTS))


def _curves(run: Consumption) -> markupsafe.Markup:
    places = drawn_places(run)
    curves = [("resident", run.resident, 2), ("in use", run.live, 0)]
    title = f"{run.allocator}: {units.size(max(run.asked))} asked of the system at most"
    if max(run.asked) <= _RESERVED * max(run.resident):
        curves.insert(0, ("asked of the system", run.asked, 1))
    else:
        title += ", most of it never touched and not drawn"
    lines = [
        Line(label, [(run.calls[at], values[at]) for at in places], shade) for label, values, shade in curves
    ]
    return markupsafe.Markup(curves_svg.draw(title, "calls of malloc and free", lines))  # noqa: S704 - ours, escaped
