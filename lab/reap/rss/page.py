"""Memory over time as one HTML page that needs nothing else."""

from collections.abc import Sequence

from reap.base import units
from reap.base.text import command_line
from reap.draw import html
from reap.draw.figure import Charts
from reap.launch.host.rows import machine_rows
from reap.launch.records import Machine
from reap.rss import view
from reap.rss.judge import judge
from reap.rss.records import NAMES, Residence
from reap.rss.terminal import remedy_words
from reap.rss.trials import judge as trial_judge
from reap.rss.trials import words as trial_words
from reap.rss.trials.records import Trials

_POINTS = (300, 150, 75, 30)
"""Moments that are drawn: more cannot be seen. Fewer where a page would be too large."""
_PROCESSES = 12
"""So many of a command's are drawn: a build has thousands."""


def page(
    title: str,
    seen: Sequence[tuple[str, Residence]],
    made_by: list[str],
    machine: Machine,
    trials: Trials | None = None,
    remedied: Residence | None = None,
) -> str:
    """Each process with its name, its verdict, its areas, and its parts in a table; of many the first.

    Above them what came of remedies that were tried; `remedied` is the first process with the best of them.
    """
    left = len(seen) - _PROCESSES
    story = (
        f"The largest {_PROCESSES}. {left} smaller ones are in the file of all snapshots." if left > 0 else ""
    )
    shown = seen[:_PROCESSES]
    tried = trial_words.page(trials) if trials else {"headings": [], "rows": [], "settings": []}
    if trials:
        story = " ".join([*trial_words.sentences(trials), story]).strip()
    return render(title, shown, made_by, machine, trials, remedied, story=story, judged=[], **tried)


def render(
    title: str,
    seen: Sequence[tuple[str, Residence]],
    made_by: list[str],
    machine: Machine,
    trials: Trials | None = None,
    remedied: Residence | None = None,
    **more: object,
) -> str:
    """The page; `more` are the words of its template besides.

    Its charts have fewer moments where it would be longer than `html.MOST_BYTES`.
    """
    text = ""
    for points in _POINTS:
        charts = Charts()
        multiples = view.multiples(trials) if trials and trials.curve else []
        small = [charts.add(figure, chart) for figure, chart in multiples]
        parts = _parts(seen, trials, remedied, points, charts)
        text = html.charted_page(
            "rss/page.html.j2",
            charts.data(),
            title=title,
            multiples=small,
            trims=any(chart.trim for _, chart in multiples),
            parts=parts,
            made_by=command_line(made_by),
            machine=machine_rows(machine),
            **more,
        )
        if len(text.encode()) <= html.MOST_BYTES:
            break
    return text


def _parts(
    seen: Sequence[tuple[str, Residence]],
    trials: Trials | None,
    remedied: Residence | None,
    points: int,
    charts: Charts,
) -> list[dict[str, object]]:
    """Each process; the first also with the best remedy, on the same scale."""
    best = trial_judge.winner(trials) if trials else None
    found = []
    for number, (name, residence) in enumerate(seen):
        beside = [remedied] if remedied and not number else []
        found.append(_part(name, residence, view.owners(residence, points, *beside), charts, trials))
        if beside and best:
            owners = view.owners(beside[0], points, residence, trim=best.trim)
            found.append(_part(f"With {best.change.name}", beside[0], owners, charts, trials))
    return found


def _part(
    name: str, residence: Residence, owners: view.Owners, charts: Charts, trials: Trials | None
) -> dict[str, object]:
    verdict = judge(residence)
    remedies = [] if trials else verdict.remedies
    return {
        "title": name,
        "residence": residence,
        "rows": _rows(residence),
        "verdict": verdict,
        "chart": charts.add(view.owners_figure(residence, trimmed=owners.trim is not None), owners),
        "remedies": [remedy_words(each.what, each.environment, each.allocator) for each in remedies],
    }


def _rows(residence: Residence) -> list[tuple[str, list[str]]]:
    """Each part settled, at the peak and at the end, and their sums."""
    shown = (residence.settled, residence.largest, residence.last)
    rows = [
        (words, [units.size(getattr(each.parts, name)) for each in shown])
        for name, words in NAMES.items()
        if any(getattr(each.parts, name) for each in residence.moments)
    ]
    return [*rows, (view.whole(residence), [units.size(each.resident) for each in shown])]
