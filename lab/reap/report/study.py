"""A study's files: one page, its data as JSON and as CSV; and its conclusions on a terminal."""

import csv
import io
from pathlib import Path

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from reap import units
from reap.files import write_safely
from reap.report import html, view, view_ismm2026, view_oopsla2002
from reap.report.study_view import usable
from reap.report.text import printable
from reap.study.records import Study

PAGE, DATA, ARMS = "study.html", "study.json", "arms.csv"
_VIEWS = {"ismm2026": view_ismm2026.view, "oopsla2002": view_oopsla2002.view}
_STYLES = {"holds": "green", "holds partly": "yellow", "outdated": "magenta", "does not hold": "red"}
_COLUMNS = (
    "workload",
    "kind",
    "variant",
    "allocator",
    "level",
    "rounds",
    "cpu_seconds",
    "normalised",
    "low",
    "high",
    "asked",
)


def write(study: Study, place: Path) -> list[Path]:
    """Writes the page and the data into the study's folder, over what was there. Throws ReapError."""
    files = {
        PAGE: page(study).encode(),
        DATA: msgspec.json.format(msgspec.json.encode(study), indent=1) + b"\n",
        ARMS: arms(study).encode(),
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


def arms(study: Study) -> str:
    """Every arm of every workload, a line each; CPU time as a ratio to custom over glibc on a clean heap.

    The last is what it asked the system for at most, in bytes, where that was seen.
    """
    memory = {each.card.name: each for each in study.memory}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(_COLUMNS)
    for each in study.measured:
        for arm in each.result.arms if each.result else []:
            ratio = arm.normalised.get("cpu")
            value = (
                [f"{part:.6g}" for part in (ratio.ratio.value, ratio.ratio.low, ratio.ratio.high)]
                if ratio
                else []
            )
            where = [each.card.name, each.card.kind, arm.variant, arm.allocator, arm.level]
            asked = (
                memory[each.card.name].mark(arm.variant, arm.allocator) if each.card.name in memory else None
            )
            spent = [arm.rounds, f"{arm.cpu:.6g}", *(value or ["", "", ""])]
            writer.writerow([*where, *spent, "" if asked is None else asked])
    return text.getvalue()


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
