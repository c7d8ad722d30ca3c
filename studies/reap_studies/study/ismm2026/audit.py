"""Tables of what the artefact adds to the paper's figures: its second machine, and its counters.

The machines, inputs and levels differ from ours, so no rule judges by these.
"""

from collections.abc import Iterator

from reap.api import Arm, Estimate, statistics, units
from reap_studies.study.ismm2026 import artefact
from reap_studies.study.ismm2026.published import PROGRAMS
from reap_studies.study.records import Study
from reap_studies.study.view import TableView

OTHERS = ("jemalloc", "mimalloc")
NONE = "0.0"
"""The occupancy without litter."""
COUNTERS = {
    "elapsed": "time",
    "L1-dcache-load-misses": "first-level misses",
    "LLC-load-misses": "last-level misses",
    "dTLB-load-misses": "TLB misses",
}
"""Their counters, and what a column calls them."""


def to_glibc(times: artefact.Times) -> Iterator[tuple[str, str, Estimate]]:
    """Level, allocator, and the time over it to that over glibc."""
    for level, base in times["glibc"].items():
        for allocator in OTHERS:
            yield level, allocator, statistics.unpaired(base, times[allocator][level])


def second_machine() -> TableView:
    """A row for each program, variant and level: the other allocators to glibc, on both machines."""
    first = {each.program: each for each in artefact.published().program}
    second = artefact.second_machine()
    rows: dict[tuple[str, str, str], list[str]] = {}
    farthest = 1.0
    for each in second.program:
        for variant in ("naive", "custom"):
            there = {
                (level, name): ratio for level, name, ratio in to_glibc(getattr(first[each.program], variant))
            }
            for level, name, ratio in to_glibc(getattr(each, variant)):
                row = rows.setdefault((each.program, variant, level), [])
                row += [units.ratio_with_interval(there[level, name]), units.ratio_with_interval(ratio)]
                farthest = max(farthest, ratio.value, 1 / ratio.value)
    columns = ["program", "variant", "level"]
    columns += [
        f"{name} to glibc: {where}" for name in OTHERS for where in ("first machine", "second machine")
    ]
    title = (
        f"The artefact's second machine ({second.machine}): elapsed time over the other allocators to that "
        f"over glibc. None is farther from 1 than {units.ratio(farthest)}: were they loaded there?"
    )
    return TableView(title, columns, [[*at, *row] for at, row in rows.items()])


def counters(study: Study) -> TableView:
    """A row for each program, allocator and occupancy: time and misses to those without litter, and ours."""
    here = _here(study)
    workloads = {each.program: each.here for each in PROGRAMS}
    rows = []
    for each in artefact.counters().program:
        for allocator, occupancies in each.occupancy.items():
            for occupancy in ("0.2", "0.5", "0.8"):
                row = [each.program, allocator, occupancy]
                for counter in COUNTERS:
                    theirs = statistics.unpaired(occupancies[NONE][counter], occupancies[occupancy][counter])
                    row.append(units.ratio_with_interval(theirs))
                rows.append([*row, *here.get((workloads[each.program], allocator, occupancy), [""] * 3)])
    source = artefact.counters()
    title = (
        f"Figure 3. Time and misses on heaps of multiplier 10, to those without litter. Artefact: counted on "
        f"{source.machine}, {source.allocators}. Here: CPU time, misses in simulated caches"
    )
    columns = ["program", "over", "occupancy", *(f"artefact: {name}" for name in COUNTERS.values())]
    return TableView(title, [*columns, *(f"here: {name}" for name in list(COUNTERS.values())[:3])], rows)


def _here(study: Study) -> dict[tuple[str, str, str], list[str]]:
    """By workload, allocator and occupancy: time, first-level and last-level misses."""
    found = {}
    for each in study.occupancy:
        if (result := each.result) is None:
            continue
        allocator, variant = result.allocators[0], result.variants[-1]
        clean = result.arm(variant, allocator, artefact.CLEAN)
        for level in result.levels:
            arm = result.arm(variant, allocator, level.name)
            if cells := _cells(arm, clean):
                found[each.card.name, allocator, f"{level.occupancy:g}"] = cells
    return found


def _cells(arm: Arm | None, clean: Arm | None) -> list[str]:
    if arm is None or clean is None:
        return []
    time = arm.slowdown.get("cpu")
    said = [units.ratio_with_interval(time.ratio) if time else units.UNKNOWN]
    if arm.misses is None or clean.misses is None:
        return [*said, units.UNKNOWN, units.UNKNOWN]
    pairs = ((arm.misses.first, clean.misses.first), (arm.misses.last, clean.misses.last))
    return [*said, *(units.ratio(here / max(base, 1)) for here, base in pairs)]
