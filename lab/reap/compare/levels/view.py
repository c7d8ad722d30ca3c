"""Contents of the page for a program on fragmented heaps, as plain strings and lists."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.compare import pairings
from reap.compare import words as compared
from reap.compare.levels import words
from reap.compare.levels.judge import FragmentVerdict
from reap.compare.levels.records import Fragmented
from reap.draw.figure import Figure
from reap.experiment.records import Ratio
from reap.fragment import words as of_litter


@dataclass(frozen=True)
class RatioCell:
    """One ratio with its interval and what it says."""

    ratio: str
    interval: str
    word: str
    verdict: str


@dataclass(frozen=True)
class RatioTable:
    """One kind of ratio of CPU time: a row a variant and allocator, a column a level."""

    title: str
    columns: list[str]
    rows: list[tuple[str, list[RatioCell | None]]]


@dataclass(frozen=True)
class LevelsView:
    """A program's section on fragmented heaps."""

    first: list[str]
    verdict: FragmentVerdict
    litter: str
    reading: str
    figures: list[Figure]
    tables: list[RatioTable]
    columns: list[str]
    medians_of: str
    memory: str
    medians: list[tuple[str, str, list[str]]]
    caches: str
    missed: list[str]
    misses: list[tuple[str, str, list[str]]]
    controls: RatioTable
    layout_bias: list[str]
    exit_code: int
    problems: list[str]
    notes: list[str]


def view(result: Fragmented, verdict: FragmentVerdict) -> LevelsView:
    """The section's words and figures."""
    return LevelsView(
        first=[printable(each) for each in verdict.first],
        verdict=verdict,
        litter=_litter(result),
        reading=" ".join(
            [
                pairings.paired(result.pairing, littered=True),
                words.BELOW_ONE,
                compared.INCONCLUSIVE,
                *words.deciding(result),
            ]
        ),
        figures=_figures(result),
        tables=[
            RatioTable(
                title=kind.title,
                columns=words.levels(result, kind),
                rows=_rows(result, kind),
            )
            for kind in words.kinds(result)
        ],
        columns=list(words.COLUMNS),
        medians_of=words.medians(result),
        memory=words.MEMORY,
        medians=[
            (words.name(result, words.row_of(arm)), arm.level, words.values(arm))
            for arm in result.arms
            if arm.sound
        ],
        caches=words.caches(result),
        missed=words.miss_columns(result),
        misses=[
            (words.name(result, words.row_of(arm)), arm.level, counts)
            for arm in result.arms
            if arm.sound and (counts := words.misses(result, arm))
        ],
        controls=_controls(result),
        layout_bias=words.layout_bias(result),
        exit_code=result.exit_code,
        problems=words.problems(result),
        notes=[printable(note) for note in result.notes],
    )


def _litter(result: Fragmented) -> str:
    profile = result.profile
    if result.clean:
        return "Heaps were as the program makes them: nothing was littered."
    order = of_litter.freed_in_order(result.order, touch=result.touch, seed=result.seed)
    return (
        "Before a run its heap was littered with objects of the program's own sizes "
        f"({of_litter.drawn_from(profile)}, {units.size(profile.mean_size)} on average), as many as a level "
        f"says in multiples of the {units.count(profile.peak.value)} that it has in use at most; those that "
        f"do not stay were freed {order}. The cost of this is subtracted from every figure."
    )


def _figures(result: Fragmented) -> list[Figure]:
    figures = [
        Figure(
            kind="levels",
            option=kind.field,
            title=kind.title,
            remark="Bars are ratios of typical rounds, whiskers their 95 % CIs.",
            summary=_summary(result, kind),
            wide=True,
        )
        for kind in words.kinds(result)
    ]
    if any(arm.sound and arm.split for arm in result.arms):
        figures.append(
            Figure(
                kind="split",
                title="CPU time inside and outside the allocator",
                remark="From one sampled run of each; on glibc much of a slowdown is the allocator's own.",
                summary="; ".join(
                    f"{words.name(result, words.row_of(arm))} {arm.level}: "
                    f"{units.percent(arm.split.share.value)} inside"
                    for arm in result.arms
                    if arm.sound and arm.split
                ),
                wide=True,
            )
        )
    if any(arm.sound and arm.misses for arm in result.arms):
        figures.append(
            Figure(
                kind="misses",
                title="Cache misses, beside CPU time",
                remark="Each as a ratio to its own at the first level; simulated caches know no prefetching.",
                summary="; ".join(
                    f"{words.name(result, words.row_of(arm))} {arm.level}: "
                    f"{', '.join(words.misses(result, arm))}"
                    for arm in result.arms
                    if arm.sound and arm.misses
                ),
                wide=True,
            )
        )
    return [
        *figures,
        Figure(
            kind="litter",
            title="What the heaps were littered with",
            remark="Objects by size in bins of powers of two, on a log scale.",
            summary=f"{units.number(result.profile.count, 'object')}, "
            f"{units.size(result.profile.mean_size)} on average",
            wide=True,
        ),
    ]


def _summary(result: Fragmented, kind: words.Kind) -> str:
    parts = []
    for arm in result.arms:
        ratio = kind.of(arm)
        if arm.sound and ratio is not None:
            name = words.name(result, words.row_of(arm))
            parts.append(f"{name} {arm.level} {units.ratio_with_interval(ratio.ratio)}")
    return "; ".join(parts)


def _rows(result: Fragmented, kind: words.Kind) -> list[tuple[str, list[RatioCell | None]]]:
    rows = []
    for row in words.rows(result):
        variant, allocator, huge = row
        names = words.levels(result, kind)
        arms = [result.arm(variant, allocator, name, huge) for name in names]
        cells = [_cell(kind.of(arm)) if arm and arm.sound else None for arm in arms]
        if any(cells):
            rows.append((words.name(result, row), cells))
    return rows


def _cell(ratio: Ratio | None) -> RatioCell | None:
    if ratio is None:
        return None
    if ratio.ratio.low == ratio.ratio.high == 1:  # an arm to itself
        return RatioCell(ratio="1", interval="", word="", verdict="")
    return RatioCell(
        ratio=units.ratio(ratio.ratio.value),
        interval=units.span(ratio.ratio, " to "),
        word=compared.verdict_word(ratio),
        verdict=ratio.verdict.replace(" ", "-"),
    )


def _controls(result: Fragmented) -> RatioTable:
    clean = result.levels[0].name
    rows = [
        (
            words.name(result, (each.variant, each.allocator, "")),
            [_cell(each.preload), _cell(each.emptied)],
        )
        for each in result.controls
    ]
    return RatioTable(
        title="Controls: these should show no difference (CPU time)",
        columns=[f"{clean} to bare", f"All freed, to {clean}"],
        rows=[*rows, ("Noise", [_cell(result.noise.get("cpu")), None])],
    )
