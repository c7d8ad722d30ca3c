"""Results as text: a line for whoever waits, a table for the documents."""

from pathlib import Path

import running
from entries import Entry
from judging import Result
from kept import Results

BEGIN = "<!-- the table: begin -->"
END = "<!-- the table: end -->"


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
    """Puts the table into a page, between its marks."""
    text = page.read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    page.write_text(f"{before}{BEGIN}\n\n{markdown(known, results)}\n{END}{after}")


def markdown(known: dict[str, Entry], results: Results) -> str:
    """The table of all that has results."""
    rows = [
        f"| program | packages | {' | '.join(running.VERBS)} | not compared: differs alone, too |",
        "|---" * (3 + len(running.VERBS)) + "|",
    ]
    for entry in known.values():
        found = {way: results.of(entry, way) for way in ("alone", *running.VERBS)}
        if not any(found.values()):
            continue
        name = f"{entry.name} (service)" if entry.service else entry.name
        cells = [_cell(entry, way, found[way]) for way in running.VERBS]
        varying = {one for result in found.values() if result for one in result.not_compared}
        rows.append(
            f"| {name} | {', '.join(entry.packages)} | {' | '.join(cells)} | {_varying(entry, varying)} |"
        )
    return "\n".join(rows) + "\n"


def _cell(entry: Entry, way: str, result: Result | None) -> str:
    if way in entry.not_under:
        return entry.because
    if result is None:
        return ""
    if result.by_valgrind:
        return "as under Valgrind alone"
    return "**differs**" if result.differences else "="


def _varying(entry: Entry, varying: set[str]) -> str:
    said = ", ".join(sorted(varying))
    return f"{said}: {entry.varies}" if entry.varies and said else said or entry.varies
