"""Contents of the page for a comparison, as plain strings; the template places them."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.compare import analyse, phrases, words
from reap.draw.figure import Figure
from reap.experiment.records import Comparison, Ratio, Side

FOREST = (
    "cpu_per_request",
    "cpu",
    "throughput",
    "latency_p99",
    "wall",
    "peak_resident",
    "settled_resident",
    "minor_faults",
    "request_p50",
    "request_p99",
)
"""The metrics that get a figure; the table has them all."""


def forest(comparison: Comparison) -> list[Figure]:
    """A figure for each metric that some allocator has."""
    baseline = printable(comparison.baseline)
    return [
        Figure(
            kind="forest",
            option=metric,
            title=_title(metric),
            remark="",
            summary=f"{words.metric_name(metric)} as a ratio to {baseline}: "
            + "; ".join(
                f"{printable(side.allocator)} {units.ratio_with_interval(side.ratios[metric].ratio)}"
                for side in comparison.sides
                if metric in side.ratios
            ),
        )
        for metric in FOREST
        if any(metric in side.ratios for side in comparison.sides)
    ]


def _title(metric: str) -> str:
    name = words.metric_name(metric)
    return name[0].upper() + name[1:]


@dataclass(frozen=True)
class Cell:
    """One ratio of the comparison's table."""

    ratio: str
    interval: str
    word: str
    verdict: str
    """Its class: the verdict, or that it is within the noise, where neither colour applies."""
    amounts: str


@dataclass(frozen=True)
class Row:
    """One allocator of the comparison's table."""

    name: str
    cells: list[Cell | None]
    trust: str
    trusted: bool
    provider: str
    problem: str


@dataclass(frozen=True)
class CompareView:
    """A comparison's section."""

    title: str
    comparison: Comparison
    verdict: list[str]
    paired: str
    reading: str
    forest: list[Figure]
    metrics: list[str]
    rows: list[Row]
    noise: list[Cell | None]


def view(comparison: Comparison, title: str = "") -> CompareView:
    """The section's words and figures; `title` in place of the usual heading."""
    metrics = words.metrics(comparison)
    rows = [_row(side, metrics, comparison) for side in comparison.sides]
    what = "commands" if comparison.against else "allocators"
    return CompareView(
        title=title or f"Other {what} against {printable(comparison.baseline)}",
        comparison=comparison,
        verdict=[
            *words.verdict(comparison),
            *words.conditions(comparison),
            *filter(None, [words.witness(comparison)]),
        ],
        paired=words.made(comparison),
        reading=" ".join(words.reading(comparison)),
        forest=forest(comparison),
        metrics=[words.metric_name(metric) for metric in metrics],
        rows=rows,
        noise=[_cell(comparison.noise.get(metric), comparison) for metric in metrics],
    )


def _row(side: Side, metrics: list[str], comparison: Comparison) -> Row:
    return Row(
        name=printable(side.allocator),
        cells=[_cell(side.ratios.get(metric), comparison) for metric in metrics],
        trust=words.trust(side, comparison),
        trusted=analyse.trusted(side),
        provider=printable(side.provider),
        problem=printable(side.problem),
    )


def _cell(ratio: Ratio | None, comparison: Comparison) -> Cell | None:
    if ratio is None:
        return None
    noise = analyse.within_noise(ratio, comparison)
    return Cell(
        ratio=units.ratio(ratio.ratio.value),
        interval=units.span(ratio.ratio, " to "),
        word=words.verdict_word(ratio),
        verdict="within-noise" if noise else ratio.verdict,
        amounts=phrases.instead(ratio),
    )
