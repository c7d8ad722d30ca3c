"""What the page of the ISMM 2026 study shows, as plain strings, lists and drawings."""

import math

import markupsafe

from reap.api import LEVELS, Fragmented, SizeProfile, exactly, units
from reap.api import recording_sizes as sizes
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.ismm2026 import artefact, audit
from reap_studies.study.ismm2026.published import PROGRAMS, REJECTED
from reap_studies.study.judging.ratios import best_ratio
from reap_studies.study.records import Study
from reap_studies.study.view import FigureView, StudyView, TableView, checks, drawn, first, remarks, scale

_QUICK = "A quick study: runs of a fraction of a second, one fragmented level, few rounds, no controls."


def view(study: Study) -> StudyView:
    """The page's words and drawings."""
    return StudyView(
        title="Custom memory allocation, reconsidered again",
        source="van Kempen and Berger, ISMM 2026",
        address="https://doi.org/10.1145/3814942.3816132",
        first=first(study, _QUICK),
        remarks=remarks(study),
        tables=[
            _classification(study),
            _inputs(study),
            _levels(),
            _switches(study),
            _published(),
            _artefact(study),
            audit.counters(study),
            audit.second_machine(),
            _slowdowns(study),
            checks(study),
        ],
        figures=[_sizes(study), _misses(study), _per_class(study), _regions(study), _heaps(study)],
    )


def _classification(study: Study) -> TableView:
    rows = []
    for each in study.measured:
        card = each.card
        rows.append(
            [
                card.name,
                card.kind + (" (partial)" if card.partial else ""),
                f"from {card.chunks_from}" if card.chunks else "",
                "yes" if "individual" in card.frees else "",
                "yes" if "bulk" in card.frees else "",
                units.percent(card.custom_share) if card.custom_share is not None else units.UNKNOWN,
                each.excluded or "measured",
            ]
        )
    rows += [[name, kind, "", "", "", "", why] for name, kind, why in REJECTED]
    columns = [
        "workload",
        "type",
        "chunks",
        "individual free",
        "bulk free",
        "share of objects, by its card",
        "reason for exclusion",
    ]
    return TableView("Table 1. Classification of the custom allocators", columns, rows)


def _inputs(study: Study) -> TableView:
    rows = [
        [
            each.card.name,
            each.version or units.UNKNOWN,
            scale(each.card, each.scale),
            each.card.title,
            each.card.origin.note,
        ]
        for each in study.measured
    ]
    return TableView(
        "Table 2. Applications and inputs", ["workload", "version", "input", "description", "origin"], rows
    )


def _levels() -> TableView:
    rows = [[level.name, f"{level.multiplier:g}", f"{level.occupancy:g}"] for level in LEVELS.values()]
    return TableView("Table 3. Adversarial allocation", ["level", "multiplier", "occupancy"], rows)


def _switches(study: Study) -> TableView:
    rows = [[each.card.name, each.card.allocator, each.card.switch] for each in study.measured]
    return TableView(
        "Table 4. How custom allocation is switched off", ["workload", "allocator", "switch"], rows
    )


def _published() -> TableView:
    columns = [
        "program", "type", "chunks", "individual free", "bulk free", "switched off by",
        "naive to custom, clean heap", "naive at adv3", "left out there", "here",
    ]  # fmt: skip
    rows = [
        [
            each.program,
            each.kind,
            *("yes" if has else "" for has in (each.chunks, each.individual, each.bulk)),
            each.switch,
            each.clean,
            each.littered,
            each.excluded,
            each.here or "nothing stands for it",
        ]
        for each in PROGRAMS
    ]
    return TableView(
        "Published: the paper's own programs, from its Tables 1 and 4 and its text", columns, rows
    )


def _artefact(study: Study) -> TableView:
    """A row for each program and allocator: what the paper says, its artefact has, and was measured here."""
    words = {each.program: (each.clean, each.littered) for each in PROGRAMS}
    found: dict[tuple[str, str, str], list[str]] = {}
    for each in artefact.compared(study.measured):
        row = found.setdefault((each.program, each.workload, each.allocator), [])
        here = units.ratio_with_interval(each.here) if each.here else units.UNKNOWN
        row += [units.ratio_with_interval(each.artefact), here]
    rows = [
        [program, "; ".join(filter(None, words[program])), workload, allocator, *row]
        for (program, workload, allocator), row in found.items()
    ]
    columns = ["program", "the paper's text", "workload here", "over"]
    columns += [f"{figure}: {where}" for figure in artefact.FIGURES for where in ("artefact", "here")]
    theirs = artefact.published()
    title = (
        f"Paper, artefact, here. Artefact: elapsed time on {theirs.machine}, {theirs.allocators} "
        f"({theirs.repository}, commit {theirs.commit[:10]}). Here: CPU time on this machine, of the "
        "workload that stands for the program. The machines differ, so only directions can be compared"
    )
    return TableView(title, columns, rows)


def _slowdowns(study: Study) -> TableView:
    rows = [
        [
            each.workload,
            each.allocator,
            units.ratio_with_interval(each.ratio),
            "; ".join(each.causes) or ("" if each.reached else "no litter reaches it: its chunks are mapped"),
        ]
        for each in study.slowdowns
    ]
    return TableView(
        "Whole regions at adv3 to themselves at adv0: CPU time, and what else changed above 1.05",
        ["workload", "over", "ratio", "what else changed"],
        rows,
    )


def _sizes(study: Study) -> FigureView:
    drawings = [
        _distribution(each.card.name, each.result.profile)
        for each in study.measured
        if each.result is not None and each.card.name == "chart-parser"
    ]
    return FigureView(
        "Figure 2. Sizes that are allocated",
        "Objects by class of size, on a logarithmic scale; of the workload that stands for 197.parser, "
        "without its allocator. The paper: 491 k objects live at once.",
        drawings,
    )


def _distribution(name: str, profile: SizeProfile) -> markupsafe.Markup:
    counted = sizes.bins((size, size, count, size * count) for size, count in profile.sizes)
    bars = [
        Bar(
            f"{each.low} to {each.high} B",
            exactly(math.log10(max(each.objects, 1))),
            1,
            units.count(each.objects),
        )
        for each in counted
    ]
    live = units.count(profile.peak.value)
    return drawn(f"{name}: {profile.counted}; {live} live at once at most", [("", bars)], unit_line=False)


def _misses(study: Study) -> FigureView:
    drawings = []
    for each in study.occupancy:
        result = each.result
        if result is None:
            continue
        variant, allocator = result.variants[-1], result.allocators[0]
        clean = result.arm(variant, allocator, "adv0")
        groups = []
        for level in result.levels:
            arm = result.arm(variant, allocator, level.name)
            if arm is None or clean is None or arm.misses is None or clean.misses is None:
                continue
            first, last = (
                arm.misses.first / max(clean.misses.first, 1),
                arm.misses.last / max(clean.misses.last, 1),
            )
            time = arm.slowdown.get("cpu")
            bars = [Bar("first-level misses", exactly(first), 1), Bar("last-level misses", exactly(last), 3)]
            groups.append((level.name, [*bars, Bar("CPU time", time.ratio if time else None, 2)]))
        if groups:
            drawings.append(drawn(f"{each.card.name}, {variant} over {allocator}, to its own adv0", groups))
    return FigureView(
        "Figure 3. Occupancy, misses and CPU time",
        "Multiplier 10. Misses are those of one run in simulated caches; CPU time is of runs outside these. "
        "Clang is in a full study alone: simulated caches take it too long.",
        drawings,
    )


def _per_class(study: Study) -> FigureView:
    return FigureView(
        "Figure 4. Per-class and size-class allocators",
        "CPU time, to custom over glibc on a clean heap.",
        _normalised(study, ("per-class", "size-class")),
    )


def _regions(study: Study) -> FigureView:
    bars = []
    for each in study.measured:
        if each.result is None or each.card.kind not in ("region", "hybrid"):
            continue
        if best := best_ratio(each.result):
            naive, custom, ratio = best
            label = f"{each.card.name}{' (partial)' if each.card.partial else ''}"
            bars.append((f"{label}: {naive}/{custom}", [Bar("", ratio, 1)]))
    return FigureView(
        "Figure 5. Naive allocation over its best allocator to custom over its best",
        "CPU time on a clean heap; the allocators are named. The paper: 1.00 to 1.15.",
        [drawn("CPU time without the program's own allocator, to that with it", bars)] if bars else [],
    )


def _heaps(study: Study) -> FigureView:
    return FigureView(
        "Figure 6. Regions and hybrids on fragmented heaps",
        "CPU time, to custom over glibc on a clean heap. reap: this library's allocator in place of its own.",
        _normalised(study, ("region", "hybrid")),
    )


def _normalised(study: Study, kinds: tuple[str, ...]) -> list[markupsafe.Markup]:
    return [
        drawn(f"{each.card.name}{' (partial)' if each.card.partial else ''}", _groups(each.result))
        for each in study.measured
        if each.result is not None and each.card.kind in kinds
    ]


def _groups(result: Fragmented) -> list[tuple[str, list[Bar]]]:
    groups = []
    for variant in result.variants:
        for allocator in result.allocators:
            bars = []
            if result.arm(variant, allocator, result.levels[0].name) is None:  # it is run over others
                continue
            for number, level in enumerate(result.levels):
                arm = result.arm(variant, allocator, level.name)
                ratio = arm.normalised.get("cpu") if arm is not None and arm.sound else None
                bars.append(Bar(level.name, ratio.ratio if ratio else None, number))
            groups.append((f"{variant} {allocator}", bars))
    return groups
