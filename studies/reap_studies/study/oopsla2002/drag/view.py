"""The page of the OOPSLA 2002 study: Table 4 and Figure 7, drag."""

import markupsafe

from reap.api import DragLevel, exactly, units
from reap_studies.study.drawing import areas
from reap_studies.study.drawing.bars import Bar
from reap_studies.study.oopsla2002.drag.judge import average_drag, most_drag
from reap_studies.study.oopsla2002.drag.records import Dragged, Group
from reap_studies.study.oopsla2002.drag.run import LCC, group_of
from reap_studies.study.oopsla2002.published import AVERAGE_DRAG, AVERAGE_WITHOUT_LCC, FOOTPRINTS
from reap_studies.study.records import Drag, Study
from reap_studies.study.view import FigureView, TableView, drawn

_GROUPS: dict[Group, tuple[str, int]] = {
    "region": ("region", 2),
    "custom": ("custom, no region", 1),
    "ordinary": ("general-purpose", 0),
}
"""In the table's order: the name, and the colour."""
_AVERAGE = 3
_MOST_CURVES = 3
_COLUMNS = [
    "workload", "allocation", "scale", "objects of", "total drag", "peak", "freed at once", "increase",
    "chunks: total drag", "peak", "increase",
]  # fmt: skip


def tables(study: Study) -> list[TableView]:
    """Table 4, of all workloads, and the paper's own."""
    if not study.drag:
        return []
    every = [each for group in _GROUPS for each in _of(study, group)]
    title = (
        "Table 4. Total drag, and peak memory as it is and if objects were freed at once; without what the "
        "C++ runtime sets aside. Chunks are of programs with an allocator of their own."
    )
    shown = [TableView(title, _COLUMNS, [_line(each) for each in every if not each.excluded])]
    if known := [[each.card.name, said] for each in every for said in _said(each)]:
        shown.append(TableView("Table 4, what is not in it, and why", ["workload", "to be known"], known))
    return [*shown, _published()]


def _said(each: Drag) -> list[str]:
    excluded = [f"not measured: {each.excluded}"] if each.excluded else []
    partial = [f"left to malloc: {each.card.partial}"] if each.card.partial else []
    return [*excluded, *each.notes, *partial]


def _of(study: Study, group: Group) -> list[Drag]:
    return [each for each in study.drag if group_of(each.card) == group]


def _line(each: Drag) -> list[str]:
    seen = units.UNKNOWN
    if each.objects is not None:
        seen = f"{each.objects.variant}{', marked' if each.objects.marked else ''}"
    chunks = _figures(each.chunks)
    return [
        each.card.name,
        _GROUPS[group_of(each.card)][0],
        units.whole(each.scale) if each.card.scale else "fixed",
        seen,
        *_figures(each.objects),
        chunks[0],
        chunks[1],
        chunks[3],
    ]


def _figures(seen: Dragged | None) -> list[str]:
    """Total drag, peak, peak if freed at once, by how much the first is above the second."""
    if seen is None:
        return [units.UNKNOWN] * 4
    level = seen.level
    return [
        units.ratio(level.drag),
        units.size(level.peak),
        units.size(level.needed_peak),
        units.percent(level.peak_ratio - 1),
    ]


def _published() -> TableView:
    rows = [
        [
            each.program,
            units.whole(each.peak),
            units.whole(each.needed),
            units.percent(each.peak_ratio - 1),
            units.UNKNOWN if each.drag is None else units.ratio(each.drag),
            each.here or "nothing stands for it",
        ]
        for each in FOOTPRINTS
    ]
    columns = [
        "program",
        "peak with regions (bytes)",
        "immediate free (bytes)",
        "increase",
        "total drag",
        "here",
    ]
    return TableView("Table 4, as the paper has it, with the total drag that section 7.3 says", columns, rows)


def figures(study: Study) -> list[FigureView]:
    """Figure 7: total drag by group, and the two curves of programs with regions."""
    if not study.drag:
        return []
    groups = [bars for group in _GROUPS for bars in _bars(study, group)]
    curves = _curves(study)
    return [
        FigureView(
            "Figure 7(a). Total drag",
            "Area under the bytes in use over allocation time to that under the bytes in use if each object "
            "were freed right after its last access; 1 is the least. Of objects, one run each under the "
            "exact engine, without what the C++ runtime sets aside. Averages are of whole allocators, and "
            "without the null control.",
            [drawn("total drag", groups)] if groups else [],
            whiskers=False,
        ),
        FigureView(
            "Figure 7(b). Bytes in use and bytes needed, over bytes allocated",
            f"{LCC}, where it was measured, and the programs with regions that drag most.",
            [_curve(each, seen.level) for each, seen in curves],
            whiskers=False,
        ),
    ]


def _bars(study: Study, group: Group) -> list[tuple[str, list[Bar]]]:
    name, shade = _GROUPS[group]
    bars = [
        (
            f"{each.card.name}{' (partial)' if each.card.partial else ''}",
            [_bar(each.objects.level.drag, shade)],
        )
        for each in _of(study, group)
        if each.objects is not None
    ]
    average = average_drag(study.drag, group)
    if average is None:
        return bars
    averages = [_bar(average, _AVERAGE, "here"), _published_bar("", AVERAGE_DRAG[group])]
    most = most_drag(study.drag, group)
    if group == "region" and (rest := average_drag(study.drag, group, without=most)) is not None:
        averages.append(_bar(rest, _AVERAGE, f"here, without {most}"))
        averages.append(_published_bar(", without lcc", AVERAGE_WITHOUT_LCC))
    return [*bars, (f"average, {name}:", averages)]


def _published_bar(words: str, average: float) -> Bar:
    return Bar(f"in the paper{words}", exactly(average), _AVERAGE, f"{average:.1f}")


def _bar(drag: float, shade: int, label: str = "") -> Bar:
    return Bar(label, exactly(drag), shade, units.ratio(drag))


def _curves(study: Study) -> list[tuple[Drag, Dragged]]:
    """Those that drag most, after lcc."""
    seen = [(each, each.objects) for each in _of(study, "region") if each.objects is not None]
    seen.sort(key=lambda pair: (pair[0].card.name != LCC, -pair[1].level.drag))
    return [pair for pair in seen if pair[1].level.curve][:_MOST_CURVES]


def _curve(each: Drag, level: DragLevel) -> markupsafe.Markup:
    text = areas.draw(f"{each.card.name}: total drag {units.ratio(level.drag)}", level)
    return markupsafe.Markup(text)  # noqa: S704 - ours, and every word in it is escaped
