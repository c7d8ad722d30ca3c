"""What the page of the study of general-purpose allocators shows, as plain strings, lists and drawings."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median
from typing import Literal

from reap.api import units
from reap_studies.study.allocators import published
from reap_studies.study.allocators.analyse import between, ratio, taken_as
from reap_studies.study.allocators.figures import figures
from reap_studies.study.allocators.records import Timed
from reap_studies.study.allocators.setups import APPLICATIONS, EVALUATIONS, WITHOUT_FASTBINS, locality
from reap_studies.study.records import Evaluated, Study
from reap_studies.study.view import StudyView, TableView, first, scale

_QUICK = "A quick study: less to do in a run, few rounds, so that what is done fits into smaller caches."
_BASE = "glibc"


_FIELDS: tuple[Literal["wall", "cpu", "resident"], ...] = ("wall", "cpu", "resident")


def view(study: Study) -> StudyView:
    """The page's words and drawings."""
    found = study.evaluated
    if found is None:
        return StudyView(_TITLE, published.TITLE, "", first(study, _QUICK), [], [], [])
    parts = {
        name: [each for each in found.timed if each.name.startswith(name)] for name in ("eval", "threads")
    }
    applications = [each for each in found.timed if each.name in APPLICATIONS]
    return StudyView(
        title=_TITLE,
        source=published.TITLE,
        address="",
        first=[*first(study, _QUICK), *_left_out(found)],
        remarks=_remarks(found),
        tables=[
            _setups(found),
            _times(f"Table 1. Applications: {_SAID}; most resident memory", applications, memory=True),
            _published("Published: Table 1, four cores, seconds and MiB", published.RESIDENT, APPLICATIONS),
            _times(f"Table 2. Locality, {found.threads} threads: {_SAID}", parts["eval"]),
            _published(
                "Published: Table 2, four threads, seconds", {}, [each.name for each in parts["eval"]]
            ),
            _phases(found),
            _times(f"Table 3. Scalability, 10 evaluations: {_SAID}", parts["threads"]),
            _published("Published: Table 3, seconds", {}, [each.name for each in parts["threads"]]),
            _memory(found),
            _noise(found),
        ],
        figures=figures(found),
    )


_TITLE = "General-purpose allocators, evaluated once more"
_SAID = "median running time, CPU time of what has one thread, and its ratio to glibc's"


def _left_out(found: Evaluated) -> list[str]:
    """Setups and allocators that nothing is said of, and why."""
    said = [f"Not measured: {each.name}: {each.excluded}." for each in found.timed if each.excluded]
    if found.consumed and found.consumed.excluded:
        said.append(f"Memory over time was not measured: {found.consumed.excluded}.")
    return said


def _remarks(found: Evaluated) -> list[str]:
    said = [
        f"{each.name}, {one.allocator}: {one.problem}"
        for each in found.timed
        for one in each.series
        if one.problem
    ]
    runs = found.consumed.runs if found.consumed else []
    said += [f"memory over time, {each.allocator}: {each.problem}" for each in runs if each.problem]
    said += [f"{each.name}: {note}" for each in found.timed for note in each.notes]
    return list(dict.fromkeys(said))


def _setups(found: Evaluated) -> TableView:
    rows = [
        [
            each.name,
            each.card.name,
            scale(each.card, each.scale),
            str(each.threads or "as it has"),
            str(each.evaluations or ""),
            str(max((len(one.wall) for one in each.series), default=0)),
            each.excluded or "measured",
        ]
        for each in found.timed
    ]
    columns = ["setup", "program", "work in a run", "threads", "evaluations", "rounds", "here"]
    return TableView("What was run", columns, rows)


def _times(title: str, setups: Sequence[Timed], *, memory: bool = False) -> TableView:
    shown = [each for each in setups if each.series and each.name != WITHOUT_FASTBINS]
    names = dict.fromkeys(one.allocator for each in shown for one in each.series)
    columns = ["allocator"]
    for each in shown:
        columns += [each.name, f"{each.name}, memory"] if memory else [each.name]
    rows = []
    for name in names:
        cells = [name]
        for each in shown:
            cells.append(_cell(each, name))
            if memory:
                own = each.of(name)
                cells.append(units.size(median(own.resident)) if own and own.resident else units.UNKNOWN)
        rows.append(cells)
    return TableView(title, columns, rows)


def _cell(timed: Timed, name: str) -> str:
    own = timed.of(name)
    if own is None or not own.wall:
        return units.UNKNOWN
    seconds = units.duration(median(getattr(own, taken_as(timed, "time"))))
    held = between(timed, name, _BASE)
    return seconds if held is None or name == _BASE else f"{seconds}, {units.ratio_with_interval(held)}"


def _phases(found: Evaluated) -> TableView:
    """How locality depends on what went before: the same work in each phase, but for lengths of texts."""
    most = found.named(locality(max(EVALUATIONS)))
    rows = []
    for each in most.sound if most else []:
        if not each.phases:
            continue
        by_phase = list(zip(*each.phases, strict=True))
        evaluating = [median(times[1] for times in rounds) for rounds in by_phase]
        allocating = sum(median(times[0] + times[2] for times in rounds) for rounds in by_phase)
        share = allocating / (allocating + sum(evaluating))
        rows.append(
            [each.allocator, *(units.duration(seconds) for seconds in evaluating), units.percent(share)]
        )
    columns = ["allocator", *(f"phase {number}" for number in range(1, 6)), "share of making and freeing"]
    title = "Table 2 by phase: seconds of evaluating 1000 times, all threads together"
    return TableView(title, columns, rows)


def _published(title: str, resident: Mapping[str, tuple[int, ...]], setups: Sequence[str]) -> TableView:
    shown = [name for name in setups if name in published.SECONDS]
    columns = ["allocator", *shown]
    rows = []
    for number, name in enumerate(published.ALLOCATORS):
        cells = []
        for setup in shown:
            memory = f", {resident[setup][number]}" if setup in resident else ""
            cells.append(f"{published.SECONDS[setup][number]:g}{memory}")
        rows.append([name, *cells])
    return TableView(title, columns, rows)


def _memory(found: Evaluated) -> TableView:
    columns = [
        "allocator", "average asked for", "greatest", "average resident", "average in use",
        "not in use, by phase", "of the greatest left at the end", "published: average and greatest",
    ]  # fmt: skip
    there = dict(
        zip(published.ALLOCATORS, zip(published.AVERAGE, published.MAXIMUM, strict=True), strict=True)
    )
    rows = []
    names = list(dict.fromkeys(each.allocator for each in found.summaries))
    for name in names:
        known, runs = there.get(name), found.summed(name)
        sizes = ("average", "maximum", "resident", "live")
        phases = [fmean(each) for each in zip(*(run.fragmentation for run in runs), strict=False)]
        rows.append(
            [
                name,
                *(_mean([getattr(run, field) for run in runs], units.size) for field in sizes),
                ", ".join(units.size(one) for one in phases),
                _mean([run.last for run in runs], units.percent),
                f"{known[0]:g} and {known[1]:g} MiB" if known else "",
            ]
        )
    rows += [
        [name, *[units.UNKNOWN] * 6, f"{known[0]:g} and {known[1]:g} MiB"]
        for name, known in there.items()
        if name not in names
    ]
    return TableView("Table 4. Memory asked of the system, means over the runs", columns, rows)


def _mean(values: Sequence[float | None], words: Callable[[float], str]) -> str:
    known = [value for value in values if value is not None]
    return words(fmean(known)) if known else units.UNKNOWN


def _noise(found: Evaluated) -> TableView:
    rows = []
    for each in found.timed:
        own, again = each.of(_BASE), each.again
        ratios = [ratio(again, own, field) for field in _FIELDS] if again and own else []
        rows += [[each.name, *(units.ratio_with_interval(one) if one else units.UNKNOWN for one in ratios)]]
    columns = ["setup", "wall time", "CPU time", "resident memory"]
    return TableView("What must make no difference: glibc to itself, in the same rounds", columns, rows)
