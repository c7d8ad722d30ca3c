"""What the page shows, as plain strings and lists: figures are formatted here, the template places them."""

import math
from dataclasses import dataclass, field

from reap.base import units
from reap.base.text import command_line, printable
from reap.compare import judge
from reap.compare.phrases import METRICS
from reap.drag.exact import view as view_drag
from reap.drag.exact.view import DragView
from reap.experiment.records import Comparison, Ratio, Side
from reap.recording.records import Process, Profile, Site, Totals
from reap.report import figures, labels, view_tune, view_wall, wording
from reap.report.figures import Figure
from reap.report.labels import span, value
from reap.report.records import Answer, Report
from reap.report.view_matrix import MatrixView, view
from reap.report.view_tune import TuneView
from reap.report.view_wall import WallView


@dataclass(frozen=True)
class Cell:
    """One ratio of the comparison's table."""

    ratio: str
    interval: str
    word: str
    verdict: str
    medians: str


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
class SiteRow:
    """One allocation site; the numbers are for sorting."""

    function: str
    location: str
    module: str
    stack: list[str]
    columns: list[tuple[float, str]]


@dataclass(frozen=True)
class AnswerView:
    """One program's section."""

    anchor: str
    number: int
    title: str
    command: str
    answer: Answer
    overview: list[str]
    tiles: list[tuple[str, str, str]] = field(default_factory=list)
    forest: list[Figure] = field(default_factory=list)
    figures: list[Figure] = field(default_factory=list)
    metrics: list[str] = field(default_factory=list)
    rows: list[Row] = field(default_factory=list)
    noise: list[Cell | None] = field(default_factory=list)
    sites: list[SiteRow] = field(default_factory=list)
    processes: list[list[str]] = field(default_factory=list)
    latencies: list[list[str]] = field(default_factory=list)
    calls: list[tuple[str, str]] = field(default_factory=list)
    requests: list[list[str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    matrix: MatrixView | None = None
    tuned: TuneView | None = None
    wall: WallView | None = None
    drag: DragView | None = None


def answers(report: Report) -> list[AnswerView]:
    """A section for each answer, in the report's order."""
    return [_answer(answer, number) for number, answer in enumerate(report.answers)]


def _answer(answer: Answer, number: int) -> AnswerView:
    comparison, profile = answer.comparison, answer.profile
    metrics = _metrics(comparison) if comparison else []
    notes = [*(profile.notes if profile else []), *(comparison.notes if comparison else [])]
    matrix = view(answer.fragmented, answer.resilience) if answer.fragmented and answer.resilience else None
    tuned = view_tune.view(answer.tuned) if answer.tuned else None
    wall = view_wall.view(answer.wall, answer.wall_verdict, answer.stacks) if answer.wall else None
    return AnswerView(
        anchor=f"answer-{number}",
        number=number,
        title=printable(answer.title),
        command=command_line(answer.command),
        answer=answer,
        overview=_overview(answer),
        tiles=_tiles(profile) if profile else [],
        forest=figures.forest(comparison) if comparison else [],
        figures=figures.of_profile(profile) if profile else [],
        metrics=[wording.metric_name(metric) for metric in metrics],
        rows=[_row(side, metrics) for side in comparison.sides] if comparison else [],
        noise=[_cell(comparison.noise.get(metric)) for metric in metrics] if comparison else [],
        sites=[_site(site, profile) for site in profile.sites] if profile else [],
        processes=[_process(process) for process in profile.processes] if profile else [],
        latencies=_latencies(profile) if profile else [],
        calls=_calls(profile) if profile else [],
        requests=labels.request_rows(profile) if profile else [],
        notes=[
            *(printable(note) for note in notes),
            *(matrix.notes if matrix else []),
            *(tuned.notes if tuned else []),
            *(wall.notes if wall else []),
        ],
        matrix=matrix,
        tuned=tuned,
        wall=wall,
        drag=view_drag.view(answer.drag) if answer.drag else None,
    )


def _overview(answer: Answer) -> list[str]:
    """Share of time, the lowest CPU ratio of a trusted allocator, its memory, most bytes in use."""
    best, profile = labels.best_side(answer), answer.profile
    memory = best.ratios.get("peak_resident") if best else None
    return [
        labels.share_value(answer),
        labels.best_ratio(answer),
        units.ratio(memory.ratio.value) if memory else units.UNKNOWN,
        value(profile.totals.max_bytes, "bytes") if profile else units.UNKNOWN,
    ]


def _tiles(profile: Profile) -> list[tuple[str, str, str]]:
    """The columns of Table 3 (OOPSLA 2002): name, figure, and what is to be known of it."""
    totals, share = profile.totals, profile.share
    sampled, how = units.UNKNOWN, "not sampled"
    if share:
        sampled = units.percent(share.share.value)
        how = f"{units.percent_span(share.share.low, share.share.high)}; {wording.share_method(share)}"
    rate = profile.totals.total_objects / profile.seconds if profile.seconds > 0 else math.nan
    return [
        ("Total objects", units.count(totals.total_objects), f"{units.count(rate)} a second"),
        ("Most in use at once", value(totals.max_objects, "count"), span(totals.max_objects, "count")),
        ("Average size", units.size(totals.average_size), ""),
        ("Temporary objects", value(profile.temporary, "share"), span(profile.temporary, "share")),
        ("Total bytes", units.size(totals.total_bytes), ""),
        ("Most bytes in use", value(totals.max_bytes, "bytes"), span(totals.max_bytes, "bytes")),
        ("Total / most", units.ratio(totals.total_over_max), ""),
        (wording.SHARE_NAME, sampled, how),
    ]


def _metrics(comparison: Comparison) -> list[str]:
    present = {metric for side in comparison.sides for metric in side.ratios}
    known = [metric for metric in METRICS if metric in present]
    return known + sorted(present - set(known))


def _row(side: Side, metrics: list[str]) -> Row:
    return Row(
        name=printable(side.allocator),
        cells=[_cell(side.ratios.get(metric)) for metric in metrics],
        trust=wording.trust(side),
        trusted=judge.trusted(side),
        provider=printable(side.provider),
        problem=printable(side.problem),
    )


def _cell(ratio: Ratio | None) -> Cell | None:
    if ratio is None:
        return None
    return Cell(
        ratio=units.ratio(ratio.ratio.value),
        interval=units.span(ratio.ratio, " to "),
        word=wording.verdict_word(ratio),
        verdict=ratio.verdict.replace(" ", "-"),
        medians=f"{units.in_unit(ratio.value, ratio.unit)} vs {units.in_unit(ratio.baseline, ratio.unit)}",
    )


def _site(site: Site, profile: Profile) -> SiteRow:
    totals = profile.totals
    parts = (
        (_part(site.bytes, totals.total_bytes), units.percent),
        (site.bytes, units.size),
        (site.objects, units.count),
        (_part(site.temporary, site.objects), units.percent),
        (site.live_at_peak, units.size),
    )
    return SiteRow(
        function=printable(site.function) or "(no symbol)",
        location=printable(site.location),
        module=printable(site.module),
        stack=[printable(frame) for frame in site.stack],
        columns=[(value, show(value)) for value, show in parts],
    )


def _part(value: float, whole: float) -> float:
    return min(1.0, value / whole) if whole > 0 else 0.0


def _process(process: Process) -> list[str]:
    totals: Totals = process.totals
    figures = [
        units.whole(totals.total_objects),
        value(totals.max_objects, "count"),
        units.size(totals.average_size),
        units.size(totals.total_bytes),
        value(totals.max_bytes, "bytes"),
        units.ratio(totals.total_over_max),
    ]
    return [
        str(process.pid),
        printable(process.name),
        *(figures if process.recorded else [units.UNKNOWN] * len(figures)),
        printable(process.allocator) if process.recorded else "not recorded",
        printable(process.note),
    ]


def _latencies(profile: Profile) -> list[list[str]]:
    return [
        [
            printable(held.call),
            *wording.percentiles(held),
            units.whole(held.samples),
        ]
        for held in profile.latencies
    ]


def _calls(profile: Profile) -> list[tuple[str, str]]:
    ordered = sorted(profile.calls.items(), key=lambda call: -call[1])
    return [(printable(name), units.whole(count)) for name, count in ordered]
