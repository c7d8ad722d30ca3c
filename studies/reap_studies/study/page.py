"""A study's files: one page, its data as JSON and as CSV; and its conclusions on a terminal."""

import re
from collections import Counter
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap.api import html, machine_rows, printable, units, write_safely
from reap_studies.study import figures
from reap_studies.study.allocator_wall import view as view_allocator_wall
from reap_studies.study.allocators import view as view_allocators
from reap_studies.study.ismm2026 import view as view_ismm2026
from reap_studies.study.judging import exclusions
from reap_studies.study.judging.words import sensitivity
from reap_studies.study.oopsla2002 import view as view_oopsla2002
from reap_studies.study.records import Standing, Study
from reap_studies.study.view import FigureView, StudyView, usable

PAGE, DATA, FIGURES = "study.html", "study.json", "figures.csv"
_VIEWS = {
    "allocator-wall": view_allocator_wall.view,
    "allocators": view_allocators.view,
    "ismm2026": view_ismm2026.view,
    "oopsla2002": view_oopsla2002.view,
}
_OF_PROGRAMS = ("ismm2026", "oopsla2002")
"""Whose claims are about many programs."""
_STYLES = {"holds": "green", "holds partly": "yellow", "outdated": "magenta", "does not hold": "red"}


def write(study: Study, place: Path) -> list[Path]:
    """Writes the page and the data into the study's folder, over what was there. Throws ReapError."""
    shown = _VIEWS[study.plan.study](study)
    files = {
        PAGE: _page(study, shown).encode(),
        DATA: msgspec.json.format(msgspec.json.encode(study), indent=1) + b"\n",
        FIGURES: figures.table(study).encode(),
    }
    for figure in shown.figures:
        files |= _drawings(figure)
    return [write_safely(place / name, data, force=True) for name, data in files.items()]


def _drawings(figure: FigureView) -> dict[str, bytes]:
    """Each drawing of a numbered figure as a file, `figure-5.svg`; with a number where it has several."""
    named = re.match(r"Figure (\w+)(?:\((\w)\))?\.", figure.title)
    if named is None:
        return {}
    name = "-".join(part for part in ("figure", *named.groups()) if part)
    several = len(figure.drawings) > 1
    return {
        f"{name}-{number}.svg" if several else f"{name}.svg": str(drawing).encode()
        for number, drawing in enumerate(figure.drawings, 1)
    }


def page(study: Study) -> str:
    """One HTML page that needs nothing else and runs nothing."""
    return _page(study, _VIEWS[study.plan.study](study))


def _page(study: Study, shown: StudyView) -> str:
    return html.page(
        "reap_studies:study/page.html.j2",
        study=study,
        shown=shown,
        verdict=verdict(study),
        machine=machine_rows(study.machine),
        ratio=units.ratio_with_interval,
        sensitivity=sensitivity,
        exclusions=exclusions.TABLE if study.plan.study in _OF_PROGRAMS else (),
    )


_VERBS: dict[Standing, tuple[str, str]] = {
    "holds": ("holds", "hold"),
    "holds partly": ("holds partly", "hold partly"),
    "outdated": ("is outdated", "are outdated"),
    "does not hold": ("does not hold", "do not hold"),
    "inconclusive": ("is inconclusive", "are inconclusive"),
    "not measurable here": ("is not measurable here", "are not measurable here"),
}
"""Of one conclusion, and of many."""


def verdict(study: Study) -> str:
    """How many of the published conclusions stand, by these figures; empty where none was judged."""
    standings = Counter(each.standing for each in study.conclusions)
    told = ", ".join(f"{count} {_VERBS[each][count != 1]}" for each, count in standings.items())
    return f"Of {units.number(len(study.conclusions), 'published conclusion')}: {told}." if told else ""


def render(console: Console, study: Study) -> None:
    """The conclusions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "what is said", "here it", "measured here"):
        table.add_column(heading, overflow="fold")
    for each in study.conclusions:
        standing = Text(each.standing, style=_STYLES.get(each.standing, ""))
        said = f"{each.answer} {sensitivity(each)}".rstrip()
        table.add_row(each.question, each.claim, standing, printable(said))
    console.print(table)
    for workload in study.measured:
        if workload.excluded:
            console.print(Text(f"not measured: {workload.card.name}: {printable(workload.excluded)}"))
        elif workload.result is not None and not usable(workload.result):
            console.print(Text(f"too few rounds in the time given: {workload.card.name}"))
