"""A comparison as a table for other programs, in the format that the ending of its file names."""

import csv
import io

from reap.base.text import cell
from reap.compare import analyse
from reap.experiment.records import Comparison

COLUMNS = ("name", "metric", "unit", "baseline", "median", "ratio", "low", "high", "verdict", "trusted")


def as_csv(comparison: Comparison) -> str:
    """A line for each metric of each side; times in seconds, memory in bytes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([COLUMNS, *_rows(comparison)])
    return text.getvalue()


def as_markdown(comparison: Comparison) -> str:
    """Markdown table of the lines of `as_csv`."""
    rows = [list(COLUMNS), ["---"] * len(COLUMNS), *_rows(comparison)]
    return "".join(f"| {' | '.join(_cell(each) for each in row)} |\n" for row in rows)


FORMATS = {".csv": as_csv, ".md": as_markdown}
"""Renders each; the first is that of standard output."""


def _rows(comparison: Comparison) -> list[list[str]]:
    return [
        [
            cell(side.allocator),
            name,
            each.unit,
            *(f"{value:.6g}" for value in (each.baseline, each.value)),
            *(f"{value:.4f}" for value in (each.ratio.value, each.ratio.low, each.ratio.high)),
            each.verdict,
            "yes" if analyse.trusted(side) else "no",
        ]
        for side in comparison.sides
        for name, each in side.ratios.items()
    ]


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
