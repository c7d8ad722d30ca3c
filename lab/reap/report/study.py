"""A study's files: one page, its data as JSON and as CSV; and its conclusions on a terminal."""

from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap import units
from reap.files import write_safely
from reap.report import html, study_figures, view, view_ismm2026, view_oopsla2002
from reap.report.study_view import usable
from reap.report.text import printable
from reap.study.records import Study

PAGE, DATA, FIGURES = "study.html", "study.json", "figures.csv"
_VIEWS = {"ismm2026": view_ismm2026.view, "oopsla2002": view_oopsla2002.view}
_STYLES = {"holds": "green", "holds partly": "yellow", "outdated": "magenta", "does not hold": "red"}


def write(study: Study, place: Path) -> list[Path]:
    """Writes the page and the data into the study's folder, over what was there. Throws ReapError."""
    files = {
        PAGE: page(study).encode(),
        DATA: msgspec.json.format(msgspec.json.encode(study), indent=1) + b"\n",
        FIGURES: study_figures.table(study).encode(),
    }
    return [write_safely(place / name, data, force=True) for name, data in files.items()]


def page(study: Study) -> str:
    """One HTML page that needs nothing else and runs nothing."""
    return html.render_own(
        "study.html.j2",
        study=study,
        shown=_VIEWS[study.plan.study](study),
        machine=view.machine_rows(study.machine),
        ratio=units.ratio_with_interval,
    )


def render(console: Console, study: Study) -> None:
    """The conclusions."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("", "the paper's conclusion", "here it", "measured here"):
        table.add_column(heading, overflow="fold")
    for each in study.conclusions:
        standing = Text(each.standing, style=_STYLES.get(each.standing, ""))
        table.add_row(each.question, each.claim, standing, printable(each.answer))
    console.print(table)
    for workload in study.measured:
        if workload.excluded:
            console.print(Text(f"not measured: {workload.card.name}: {printable(workload.excluded)}"))
        elif workload.result is not None and not usable(workload.result):
            console.print(Text(f"too few rounds in the time given: {workload.card.name}"))
