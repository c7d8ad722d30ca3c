"""A run on a fragmented heap as one HTML page."""

from pathlib import Path

from reap.base import units
from reap.base.text import command_line
from reap.commandline.tables import Sheet, write_page
from reap.fragment import words
from reap.fragment.run import FragmentRun


def write(result: FragmentRun, path: Path, *, force: bool) -> None:
    """Writes what the heap was littered with, and what the program cost on it. Throws ReapError."""
    costs = words.costs(result)
    cpu = (result.run.outcome.user_ns + result.run.outcome.system_ns) / 1e9
    write_page(
        path,
        "What does this program cost on a fragmented heap?",
        [
            f"{words.title(result)} it took {units.duration(cpu)} of CPU time.",
            command_line(result.command),
            *(f"{said[0].upper()}{said[1:]}." for said in (*words.heap(result), words.kept(result))),
        ],
        [Sheet("Costs", ["", *(heading.capitalize() for heading in words.COSTS)], costs)],
        force=force,
        notes=result.notes,
        figure=(words.figure(result.heap), result.heap) if result.heap else None,
    )
