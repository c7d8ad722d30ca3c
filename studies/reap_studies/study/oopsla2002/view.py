"""What the page of the OOPSLA 2002 study shows, as plain strings, lists and drawings."""

from collections.abc import Sequence
from dataclasses import replace

import markupsafe

from reap.api import Arm, Fragmented, units
from reap.api import recording_words as words
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.judging.ratios import best_ratio
from reap_studies.study.oopsla2002.apache import view as apache
from reap_studies.study.oopsla2002.drag import view as drag
from reap_studies.study.oopsla2002.judge import OURS, asked_ratio
from reap_studies.study.oopsla2002.published import PROGRAMS
from reap_studies.study.oopsla2002.regions import view as regions
from reap_studies.study.oopsla2002.regions.peers import WORKLOADS as PEERS
from reap_studies.study.records import Counted, Measured, Memory, Statistics, Study
from reap_studies.study.view import FigureView, StudyView, TableView, checks, drawn, first, remarks, scale

_QUICK = "A quick study: runs of a fraction of a second, few rounds."


def view(study: Study) -> StudyView:
    """The page's words and drawings."""
    return StudyView(
        title="Custom memory allocation, reconsidered once more",
        source="Berger, Zorn and McKinley, OOPSLA 2002",
        address="https://doi.org/10.1145/582419.582421",
        first=[*first(study, _QUICK), *_unseen(study)],
        remarks=remarks(study),
        tables=[
            _inputs(study),
            _taxonomy(study),
            _statistics(study),
            _published(),
            _memory(study),
            *drag.tables(study),
            *regions.tables(study),
            *apache.tables(study),
            checks(study),
        ],
        figures=[
            _time(study),
            _runtimes(study),
            _space(study),
            *regions.figures(study),
            _regions(study),
            *drag.figures(study),
        ],
    )


def _unseen(study: Study) -> list[str]:
    """What is missing of those that were measured, and why."""
    absent = {each.card.name for each in study.measured if each.result is None}
    absent |= {each.card.name for each in study.statistics if each.excluded}
    return [
        *_because("high-water mark, or not all,", study.memory, absent),
        *_because("drag", study.drag, absent),
    ]


def _because(what: str, counted: Sequence[Counted], absent: set[str]) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for each in counted:
        if each.excluded and each.card.name not in absent:
            reasons.setdefault(each.excluded, []).append(each.card.name)
    return [f"No {what} of {', '.join(names)}: {why}." for why, names in reasons.items()]


def _inputs(study: Study) -> TableView:
    versions = {each.card.name: each.version for each in study.measured}
    excluded = {each.card.name: each.excluded for each in study.measured}
    rows = [
        [
            each.card.name,
            versions.get(each.card.name) or units.UNKNOWN,
            scale(each.card, each.scale),
            each.card.title,
            each.card.origin.note,
            excluded.get(each.card.name) or each.excluded or "measured",
        ]
        for each in study.statistics
    ]
    columns = ["workload", "version", "input", "description", "origin", "reason for exclusion"]
    return TableView("Table 1. Benchmarks and inputs", columns, rows)


def _taxonomy(study: Study) -> TableView:
    rows = []
    for each in study.measured:
        card = each.card
        marks = [
            "performance" in card.motives,
            "space" in card.motives,
            "software engineering" in card.motives,
            "individual" in card.frees,
            "bulk" in card.frees,
            "nested" in card.traits,
            "areas" in card.traits,
            card.chunks,
            "stack" in card.traits,
            "same-type" in card.traits,
        ]
        kind = card.kind + (" (partial)" if card.partial else "")
        rows.append([card.name, kind, *("yes" if mark else "" for mark in marks)])
    rows.append(["reaps", "this library's", "yes", "", "yes", "yes", "yes", "yes", "yes", "yes", "", ""])
    columns = [
        "workload", "allocator", "for performance", "for space", "for software engineering", "same API",
        "region delete", "nested lifetimes", "multiple areas", "chunks", "stack optimized",
        "same-type optimized",
    ]  # fmt: skip
    return TableView("Table 2. Characteristics of the custom allocators", columns, rows)


def _statistics(study: Study) -> TableView:
    columns = [
        "workload", "total objects", "most in use", "average size", "total memory", "most memory in use",
        "total / most", "in malloc (% of CPU time)",
    ]  # fmt: skip
    rows = [_line(each) for each in study.statistics if each.totals is not None]
    return TableView("Table 3. Statistics, with malloc in place of custom allocation", columns, rows)


def _line(each: Statistics) -> list[str]:
    figures = [text for _, text in words.totals_rows(each.totals)] if each.totals else []
    share = units.UNKNOWN
    if each.share is not None:
        held = each.share.share
        share = f"{units.percent(held.value)} ({units.percent_span(held.low, held.high)})"
    return [each.card.name, *figures, share]


def _published() -> TableView:
    columns = [
        "program", "allocator", "total objects", "most in use", "average size", "total memory",
        "most memory in use", "total / most", "in malloc (% of runtime)", "here",
    ]  # fmt: skip
    rows = [
        [
            each.program,
            each.allocator,
            units.whole(each.objects),
            units.whole(each.most_objects),
            units.size(each.average),
            units.size(each.total),
            units.size(each.most),
            units.ratio(each.total_over_most),
            units.percent(each.share),
            each.here or "nothing stands for it",
        ]
        for each in PROGRAMS
    ]
    return TableView("Table 3, as the paper has it (Windows XP, Win32's allocator)", columns, rows)


def _memory(study: Study) -> TableView:
    memory = _by_name(study)
    rows = []
    for each in study.measured:
        asked = memory[each.card.name].mark("custom", "glibc") if each.card.name in memory else None
        arm = each.result.arm("custom", "glibc", "adv0") if each.result else None
        resident = arm.normalised.get("peak_resident") if arm is not None else None
        if asked is not None or resident is not None:
            figures = (asked, resident.value if resident else None)
            rows.append(
                [each.card.name, *(units.UNKNOWN if one is None else units.size(one) for one in figures)]
            )
    columns = ["workload", "high-water mark of what was asked of the system", "most resident memory"]
    return TableView("Figure 1(b). Memory of the custom variant over glibc", columns, rows)


def _by_name(study: Study) -> dict[str, Memory]:
    return {each.card.name: each for each in study.memory}


def _time(study: Study) -> FigureView:
    bars = [
        (each.card.name, [Bar("", each.share.share, 0 if each.card.kind == "ordinary" else 1)])
        for each in study.statistics
        if each.share is not None
    ]
    return FigureView(
        "Figure 1(a). Time in malloc",
        "Share of CPU time inside malloc, of 1; over glibc, without allocators of the programs' own. Grey: "
        "ordinary programs.",
        [drawn("share of CPU time inside malloc", bars)] if bars else [],
    )


def _runtimes(study: Study) -> FigureView:
    return FigureView(
        "Figure 5(a). CPU time of custom, general-purpose and this library's allocation",
        "To custom over glibc. naive reap: over this library's malloc; reap: this library's Region or "
        "Reap in place of the program's own; naive win32-like: over a likeness of the Windows allocator; "
        "naive glibc: over the system's of today.",
        [_drawing(each, "cpu") for each in study.measured if each.result is not None],
    )


def _space(study: Study) -> FigureView:
    memory = _by_name(study)
    return FigureView(
        "Figure 5(b). Memory",
        "To custom over glibc. asked: the high-water mark of what was asked of the system, as the paper has "
        "it, from one run of each under strace, so without an interval; address space that may not be "
        "written is not in it. resident: most resident memory; what was asked for and not touched is not in "
        "it.",
        [_memories(each, memory.get(each.card.name)) for each in study.measured if each.result is not None],
    )


def _drawing(each: Measured, metric: str) -> markupsafe.Markup:
    result = each.result
    assert result is not None  # noqa: S101 - the caller has looked
    groups = [
        (f"{variant} {name}", [_bar(result.arm(variant, name, "adv0"), metric, shade)])
        for variant, name, shade in _arms(result)
    ]
    return drawn(_title(each), groups)


def _memories(each: Measured, asked: Memory | None) -> markupsafe.Markup:
    result = each.result
    assert result is not None  # noqa: S101 - the caller has looked
    groups = []
    for variant, name, shade in _arms(result):
        mark = asked_ratio(asked, variant, name) if asked is not None else None
        resident = _bar(result.arm(variant, name, "adv0"), "peak_resident", shade)
        groups.append((f"{variant} {name}", [Bar("asked", mark, shade), replace(resident, label="resident")]))
    return drawn(_title(each), groups)


def _title(each: Measured) -> str:
    return f"{each.card.name}{' (partial)' if each.card.partial else ''}"


def _arms(result: Fragmented) -> list[tuple[str, str, int]]:
    """What Figure 5 has: variant, allocator and shade."""
    ours = [(OURS, "glibc", 1)] if OURS in result.variants else []
    naive = [("naive", name, 1 if name == OURS else 2) for name in result.allocators]
    return [("custom", "glibc", 0), *ours, *naive]


def _bar(arm: Arm | None, metric: str, shade: int) -> Bar:
    ratio = arm.normalised.get(metric) if arm is not None and arm.sound else None
    return Bar("", ratio.ratio if ratio else None, shade)


def _regions(study: Study) -> FigureView:
    groups = [
        (f"{each.card.name}: {name}", [bar])
        for each in study.measured
        if each.result is not None and OURS in each.result.variants and each.card.name not in PEERS
        for name, bar in _in_place(each.result)
    ]
    return FigureView(
        "Beside Figure 6: the other way about",
        "CPU time, this library's Reap in the place of APR's pools, its Region in that of RapidJSON's and "
        "of Boost.JSON's, to that of the program's own over glibc. The latter two keep their chunks between "
        "documents, which the program's own do not: what that gains is page faults.",
        [drawn("to the program's own region", groups)] if groups else [],
    )


def _in_place(result: Fragmented) -> list[tuple[str, Bar]]:
    bars = [("this library's", _bar(result.arm(OURS, "glibc", "adv0"), "cpu", 1))]
    if best := best_ratio(result):
        bars.append((f"naive {best[0]}", Bar("", best[2], 2)))
    return bars
