"""A difference as a page of text: totals, functions, stacks, budgets, limits."""

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from reap.base.text import printable
from reap.diff import words
from reap.diff.records import Change, ChangedPlace, ChangedResults, Difference
from reap.draw.terminal import heading, line, notes
from reap.recording.analyse.calls import Measure

_FUNCTIONS = 10
_STACKS = 3
_FRAMES = 12
_STYLES = {"grew": "yellow", "shrank": "blue", "same": "", "inconclusive": "dim"}


def render(console: Console, held: Difference) -> None:
    """Print every part."""
    title = f"From {held.before.file} to {held.after.file}"
    console.print(Text(printable(title), style="bold"), soft_wrap=True)
    heading(console, "Totals")
    _table(console, [(label, held.totals[measure], measure) for measure, label in words.LABELS.items()])
    by = next(measure for measure in words.LABELS if measure == held.by)
    _functions(console, held.functions, by)
    _stacks(console, held.stacks, by)
    if held.budgets:
        heading(console, "Limits on growth")
        for each in held.budgets:
            style = {"exceeded": "bold red", "kept": "", "inconclusive": "yellow"}[each.verdict]
            line(console, words.budget(each, held), style)
    heading(console, "What to know")
    notes(console, held.limits)


def render_results(console: Console, held: ChangedResults) -> None:
    """Print what differs between two reports."""
    console.print(Text(printable(f"From {held.before} to {held.after}"), style="bold"), soft_wrap=True)
    for program in dict.fromkeys(each.program for each in held.figures):
        heading(console, printable(program))
        table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
        table.add_column("", overflow="fold")
        for name in words.RESULT_COLUMNS:
            table.add_column(name, justify="right", overflow="fold")
        for each in held.figures:
            if each.program == program:
                *values, by = words.result_row(each)
                table.add_row(Text(printable(each.figure)), *values, Text(by, style=_STYLES[each.verdict]))
        console.print(Padding(table, (0, 0, 0, 2)))
    heading(console, "What to know")
    notes(console, held.notes)


def _table(console: Console, rows: list[tuple[str, Change, Measure]]) -> None:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1))
    table.add_column("", overflow="fold")
    for name in words.COLUMNS:
        table.add_column(name, justify="right", overflow="fold")
    for label, change, measure in rows:
        before, after, *rest = words.row(change, measure)
        style = _STYLES[change.verdict]
        table.add_row(Text(label), Text(before), Text(after), *(Text(cell, style=style) for cell in rest))
    console.print(Padding(table, (0, 0, 0, 2)))


def _functions(console: Console, found: list[ChangedPlace], by: Measure) -> None:
    changed = [each for each in found if each.changes[by].verdict != "same"]
    heading(console, "Functions that allocate", f"{words.LABELS[by].lower()}, largest change first")
    if not changed:
        line(console, "no function differs")
        return
    _table(console, [(words.place(each), each.changes[by], by) for each in changed[:_FUNCTIONS]])
    if len(changed) > _FUNCTIONS:
        line(console, f"... and {len(changed) - _FUNCTIONS} more; --json and --html have them", "dim")


def _stacks(console: Console, found: list[ChangedPlace], by: Measure) -> None:
    changed = [each for each in found if each.changes[by].verdict != "same"]
    if not changed:
        return
    heading(console, "Stacks", f"{words.LABELS[by].lower()}, innermost first")
    for each in changed[:_STACKS]:
        before, after, by_how_much, part = words.row(each.changes[by], by)
        style = _STYLES[each.changes[by].verdict]
        line(console, f"{by_how_much}  {part}  ({before} to {after})", style)
        for frame in each.stack[:_FRAMES]:
            line(console, f"  {frame}", "dim")
        if len(each.stack) > _FRAMES:
            line(console, f"  ... and {len(each.stack) - _FRAMES} more", "dim")
