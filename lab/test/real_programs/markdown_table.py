"""Results as text: a line for whoever waits, a table for the documents."""

from pathlib import Path

import running
from entries import Entry
from judging import Result
from kept import Results

BEGIN = "<!-- the table: begin -->"
END = "<!-- the table: end -->"
HEAD = ("program", *running.VERBS, "not compared: differs alone, too")


def line(result: Result) -> str:
    """One result on one line."""
    verdict = "differs" if result.differences else "equal"
    if result.way == "alone":
        verdict = "alone"
    if result.by_valgrind:
        verdict = "as under Valgrind alone"
    parts = [f"{result.name:<20} {result.way:<7} {result.seconds:6.1f} s  {verdict}"]
    if result.objects is not None:
        parts.append(f"{result.objects} objects")
    if result.not_compared and result.way == "alone":
        parts.append(f"not compared: {', '.join(result.not_compared)}")
    return "; ".join([*parts, *result.differences])


def write(page: Path, known: dict[str, Entry], results: Results) -> None:
    """Puts the table into a page, between its marks. What has no result here stays as it is there."""
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    old, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{markdown(known, results, old)}\n{END}{after}")


def markdown(known: dict[str, Entry], results: Results, old: str = "") -> str:
    """The table of all that has results, here or in an older table."""
    before = {cells[0]: cells for cells in map(_cells, old.splitlines()) if len(cells) == len(HEAD)}
    rows = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    for entry in known.values():
        found = {way: [*results.all_of(entry, way).values()] for way in ("alone", *running.VERBS)}
        name = f"{entry.name} (service)" if entry.service else entry.name
        if not any(found.values()) and name not in before:
            continue
        was = before.get(name, [""] * len(HEAD))
        ways = [
            _cell(entry, way, found[way]) or kept for way, kept in zip(running.VERBS, was[1:-1], strict=True)
        ]
        varying = {one for runs in found.values() for run in runs for one in run.not_compared}
        last = _varying(entry, varying) if found["alone"] or not was[-1] else was[-1]
        rows.append(f"| {' | '.join([name, *ways, last])} |")
    return "\n".join(rows) + "\n"


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip().strip("|").split(" | ")] if row.startswith("| ") else []


def _cell(entry: Entry, way: str, runs: list[Result]) -> str:
    if way in entry.not_under:
        return entry.because
    if not runs:
        return ""
    said = "as under Valgrind alone" if any(run.by_valgrind for run in runs) else "="
    if any(run.differences and not run.by_valgrind for run in runs):
        said = "**differs**"
    return f"{said} ({len(runs)})" if len(runs) > 1 else said


def _varying(entry: Entry, varying: set[str]) -> str:
    said = ", ".join(sorted(varying))
    return f"{said}: {entry.varies}" if entry.varies and said else said or entry.varies
