"""What the page of the study of the allocator wall shows, as plain strings, lists and drawings."""

from collections.abc import Iterable, Sequence

import markupsafe

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import units
from reap_studies.study.allocator_wall import services
from reap_studies.study.allocator_wall import view_python as python
from reap_studies.study.allocator_wall.analyse import Figures
from reap_studies.study.allocator_wall.asks import (
    COUNTS,
    LOADS,
    REGION,
    TUNED,
    crowds,
    loaded,
    loaded_point,
    point,
)
from reap_studies.study.allocator_wall.records import Wall
from reap_studies.study.drawing import curves
from reap_studies.study.drawing.curves import Line
from reap_studies.study.records import Study
from reap_studies.study.view import FigureView, StudyView, TableView, first

_QUICK = "A quick study: blocks of milliseconds, few rounds."
_BUSY = 0.05
"""Share of time without a processor, of one thread that never waits."""
_PERCENTILES = {"p50_ns": "P50", "p99_ns": "P99", "p999_ns": "P99.9"}
_UNJUDGED = [
    ["py-spy shows _int_malloc", "it is not run here; without native stacks it sees Python's functions"],
    ["pauses of Go's and the JVM's collectors", "only CPython's are taken here"],
    ["threads change processors hundreds of times a second", "the scheduler's, and what else runs decides"],
    [
        "slab allocators of the kernel",
        (
            "not measurable here, since no program reaches them; as root, slabtop -o shows what they hold "
            "and perf record -e 'kmem:*' -a who calls them"
        ),
    ],
    ["Windows and macOS", "not this system"],
]  # fmt: skip


def view(study: Study) -> StudyView:
    """The page's words and drawings."""
    wall = study.wall
    if wall is None:  # a study of this name always has one
        raise ValueError("no samples")
    figures = Figures(wall.samples)
    threads = max(wall.cores, 2)
    return StudyView(
        title="The allocator wall, claim by claim",
        source="the article \"Wall: memory allocators can dominate I/O\"",
        address="",
        what="article",
        first=_first(study, figures),
        remarks=_remarks(wall),
        tables=[
            each
            for each in (
                _inputs(study, wall),
                _costs(figures, sorted({1, 2, wall.cores})),
                _crowds(figures, wall.cores),
                _memory(figures),
                _services(figures),
                TableView("Not judged", ["the article says", "why not"], _UNJUDGED),
            )
            if each.rows
        ],
        figures=[
            _knee(figures, 1, "Figure 1. The knee: what an allocation costs by how many a request makes"),
            _knee(figures, threads, f"Figure 2. The same on {threads} threads at once"),
            _rates(figures),
            _latencies(figures),
            *python.figures(figures, wall),
        ],
    )  # fmt: skip


def _first(study: Study, figures: Figures) -> list[str]:
    """How the claims stand together; of which of them something is to be known before."""
    standings = [each.standing for each in study.conclusions]
    counted = ", ".join(f"{standings.count(each)} '{each}'" for each in dict.fromkeys(sorted(standings)))
    whole = f"{len(standings)} claims: {counted}. All of it is of this machine alone."
    said = [each for each in first(study, _QUICK) if not each.endswith("inconclusive.")]
    return [whole, *_busy(figures), *said]


def _busy(figures: Figures) -> list[str]:
    """What is to be known where a thread did not have its processor for itself."""
    taken = [figures.median("knee", DEFAULT, point(each, 1), "off_cpu") for each in COUNTS]
    shares = sorted(each for each in taken if each is not None)
    if not shares or shares[len(shares) // 2] < _BUSY:
        return []
    said = (
        f"Something else ran: {units.percent(shares[len(shares) // 2])} of the time a thread that allocated"
    )
    rest = "CPU time bears that; latencies, and requests a second with threads, do not."
    return [f"{said} had no processor. {rest}"]


def _remarks(wall: Wall) -> list[str]:
    return list(
        dict.fromkeys(
            f"{each.part}, {each.arm}, {each.setting}: {each.problem}"
            for each in wall.samples
            if each.problem
        )
    )


def _inputs(study: Study, wall: Wall) -> TableView:
    rows = [
        ["allocators", ", ".join(study.plan.allocators)],
        ["parts", ", ".join(study.plan.workloads)],
        ["rounds", f"{wall.rounds} at most; what is counted and never differs has fewer"],
        ["runs", units.count(len(wall.samples))],
        ["Python", wall.python],
        ["parsers", ", ".join(f"{name} {version}" for name, version in wall.parsers.items())],
        ["processors, nodes of memory", f"{wall.cores}, {wall.nodes}"],
    ]
    return TableView("Table 1. What was measured", ["", "here"], rows)


def _services(figures: Figures) -> TableView:
    rows = []
    for service in figures.settings(services.PART):
        for arm in _ordered(figures.arms(services.PART, service)):
            cost = figures.value(services.PART, arm, service, "per_request_ns")
            sizes = [figures.median(services.PART, arm, service, field) for field in ("early", "resident")]
            took = units.duration(cost.value / 1e9) if cost else units.UNKNOWN
            rows.append(
                [service, arm, took, *(units.size(each) if each else units.UNKNOWN for each in sizes)]
            )
    columns = ["service", "over", "CPU time of a request", "resident after a tenth of them", "after all"]
    return TableView("Services: the largest process of each, one request after another", columns, rows)


def _arms(figures: Figures, threads: int) -> list[str]:
    """Those of the knee on so many threads."""
    return _ordered(arm for count in COUNTS for arm in figures.arms("knee", point(count, threads)))


def _ordered(arms: Iterable[str]) -> list[str]:
    """Each once, glibc's first, then the others by name, regions last: rounds have them in any order."""
    return sorted(set(arms), key=lambda arm: (arm == REGION, not arm.startswith(DEFAULT), arm))


def _costs(figures: Figures, threads: Sequence[int]) -> TableView:
    rows = []
    for count in threads:
        for arm in _arms(figures, count):
            said = [figures.value("knee", arm, point(each, count), "excess_ns") for each in COUNTS]
            rows.append([arm, str(count), *(f"{one.value:.1f}" if one else units.UNKNOWN for one in said)])
    columns = ["over", "threads", *(f"N={each}" for each in COUNTS)]
    return TableView(
        "Table 2. CPU time of an allocation and its free over a floor without, ns", columns, rows
    )


def _crowds(figures: Figures, cores: int) -> TableView:
    rows = []
    for count in dict.fromkeys(crowds(cores)):
        for arm in _ordered(figures.arms("threads", point(100, count))):
            where = ("threads", arm, point(100, count))
            rate, sleeps, share = (
                figures.value(*where, field) for field in ("rate", "sleeps_per_1000", "on_cpu_share")
            )
            rows.append(
                [
                    arm,
                    str(count),
                    units.count(rate.value) if rate else units.UNKNOWN,
                    f"{sleeps.value:.2f}" if sleeps else units.UNKNOWN,
                    units.percent(share.value) if share else units.UNKNOWN,
                ]
            )
    columns = ["over", "threads", "requests a second", "sleeps in 1000 requests", "samples in lock waiting"]
    return TableView("Table 3. Nothing but allocation, 100 a request", columns, rows)


def _memory(figures: Figures) -> TableView:
    rows = []
    for setting in figures.settings("memory"):
        for arm in _ordered(figures.arms("memory", setting)):
            said = [
                figures.value("memory", arm, setting, field)
                for field in ("kept_share", "trimmed_share", "waited_share", "lazy_share", "resident_to_live")
            ]
            shares = [units.percent(one.value) if one else "" for one in said[:4]]
            steady = said[4]
            rows.append([arm, setting, *shares, units.ratio(steady.value) if steady else ""])
    columns = ["over", "what was done", "kept at once", "after trimming", "at the end", "of it LazyFree",
               "resident to live"]  # fmt: skip
    return TableView("Table 4. Resident memory when all was freed, to its peak", columns, rows)


def _drawn(
    title: str, work: str, named: dict[str, Sequence[float | None]], ticks: Sequence[str], *, nano: bool
) -> markupsafe.Markup | None:
    """Curves over evenly spaced ticks; None where nothing was measured."""
    lines = []
    for shade, (name, values) in enumerate(named.items()):
        points = [(float(at + 1), max(value, 0.0)) for at, value in enumerate(values) if value is not None]
        if points:
            lines.append(Line(name, points, shade))
    if not lines:
        return None

    def say(value: float) -> str:
        return units.duration(value * 1e-9) if nano else units.count(value)

    places = [(float(at + 1), name) for at, name in enumerate(ticks)]
    text = curves.draw(title, work, lines, say=say, ticks=places)
    return markupsafe.Markup(text)  # noqa: S704 - ours, and every word in it is escaped


def _named(
    figures: Figures, arms: Sequence[str], threads: int, field: str
) -> dict[str, Sequence[float | None]]:
    return {
        arm: [figures.median("knee", arm, point(each, threads), field) for each in COUNTS] for arm in arms
    }


def _knee(figures: Figures, threads: int, title: str) -> FigureView:
    every = _arms(figures, threads)
    own = [arm for arm in every if arm in (DEFAULT, REGION, *TUNED.values())]
    others = [arm for arm in every if arm not in (REGION, *TUNED.values())][:4]
    ticks = [str(each) for each in COUNTS]
    made = [
        _drawn(words, "allocations a request", _named(figures, arms, threads, "excess_ns"), ticks, nano=True)
        for words, arms in (("allocators as they are", others), ("glibc, tuned; and a region", own))
    ]
    return FigureView(
        title,
        "CPU time of malloc and free, over the same requests without allocation. Medians of rounds; "
        "Table 2 has the numbers. The axis is of counts, evenly spaced.",
        [each for each in made if each is not None],
        whiskers=False,
    )


def _rates(figures: Figures) -> FigureView:
    every = _ordered(figures.arms("knee", loaded_point(COUNTS[0])))
    others = [arm for arm in every if arm != REGION][:4]
    made = []
    for title, arms in (
        ("requests in a second of processor", others),
        ("requests in a second of processor, and in a region", [DEFAULT, REGION]),
    ):
        named: dict[str, Sequence[float | None]] = {
            arm: [_per_second(figures.median("knee", arm, loaded_point(each), "own_ns")) for each in COUNTS]
            for arm in arms
        }
        ticks = [str(each) for each in COUNTS]
        made.append(_drawn(title, "allocations a request", named, ticks, nano=False))
    return FigureView(
        "Figure 3. Throughput by allocations of a request",
        "Requests with some 2 µs of other work, on all processors. Medians of rounds.",
        [each for each in made if each is not None],
        whiskers=False,
    )


def _per_second(nanoseconds: float | None) -> float | None:
    return 1e9 / nanoseconds if nanoseconds else None


def _latencies(figures: Figures) -> FigureView:
    arms = _ordered(figures.arms("latency", loaded(LOADS[0])))[:4]
    made = []
    for field, name in _PERCENTILES.items():
        named: dict[str, Sequence[float | None]] = {
            arm: [
                figures.median("latency", arm, "closed", field),
                *(figures.median("latency", arm, loaded(load), field) for load in LOADS),
            ]
            for arm in arms
        }
        ticks = ["closed loop", *(f"{load} %" for load in LOADS)]
        made.append(_drawn(name, "of glibc's rate, open", named, ticks, nano=True))
    return FigureView(
        "Figure 4. Latency by load",
        "Requests of 100 allocations and 2 µs of other work. In the open loop each counts from when it was "
        "to "
        "begin, at the same times for every allocator; the closed loop, which waits for each answer, is "
        "what hides "
        "a stall. Medians over rounds, of HdrHistograms.",
        [each for each in made if each is not None],
        whiskers=False,
    )
