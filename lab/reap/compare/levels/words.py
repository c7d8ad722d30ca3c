"""Names of the figures of a program on fragmented heaps, on the terminal and on the page."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.compare import phrases
from reap.compare.levels.judge import layout_span
from reap.compare.levels.records import Arm, Fragmented
from reap.experiment.records import BARE, HugePages, Ratio

BELOW_ONE = "Below 1 is less CPU time (better), above 1 is more. Each ratio has its 95 % CI."
MEMORY = "Memory is the peak minus what the littering added; memory that fits into gaps does not show."
COLUMNS = ("CPU time", "in allocator", "faults", "memory", "litter")
"""What `values` gives."""


@dataclass(frozen=True)
class Kind:
    """One kind of ratio of CPU time that arms have."""

    field: str
    """The arm's field."""
    title: str

    def of(self, arm: Arm) -> Ratio | None:
        """The arm's ratio, if it has one."""
        ratios: dict[str, Ratio] = getattr(arm, self.field)
        return ratios.get("cpu")


def kinds(result: Fragmented) -> list[Kind]:
    """The ratios that are worth a table each."""
    two = len(result.variants) > 1
    base, clean = f"{result.variants[0]}, " if two else "", result.levels[0].name
    early = ", stopped early (the budget ended)" if result.stopped_early else ""
    early = ", stopped: all decided" if result.decided else early
    rounds = units.number(result.rounds, "paired round") + early
    to = f"{base}{printable(result.allocators[0])}, {clean}"
    found = [
        Kind("normalised", f"CPU time, as a ratio to {to}; {rounds}"),
    ]
    if not result.clean:
        found.append(Kind("slowdown", f"Slower by level: each as a ratio to its own {clean}"))
    if two:
        found.append(Kind("to_custom", "Without the program's own allocator: naive as a ratio to custom"))
        found.append(
            Kind("to_best", f"On a clean heap, as a ratio to {result.variants[0]} under its fastest malloc")
        )
    if "on" in result.huge_pages:
        found.append(Kind("to_small", "With transparent huge pages: each as a ratio to itself without"))
    return found


def deciding(result: Fragmented) -> list[str]:
    """Explains when a ratio is equivalent, and what it means that rounds stop once all is decided."""
    return [phrases.equivalent(result.worth), *phrases.stopping(result.widening)]


def medians(result: Fragmented) -> str:
    """Title of the table of medians."""
    return "Medians" if result.clean else "Medians, littering subtracted"


def levels(result: Fragmented, kind: Kind) -> list[str]:
    """The levels at which some arm has a ratio of that kind."""
    names = {arm.level for arm in result.arms if arm.sound and kind.of(arm)}
    return [level.name for level in result.levels if level.name in names]


Row = tuple[str, str, HugePages]
"""A variant, an allocator, and what there is of huge pages: what a table has a row for."""


def rows(result: Fragmented) -> list[Row]:
    """Every row that has an arm, in the order in which the arms are."""
    return list(dict.fromkeys((arm.variant, arm.allocator, arm.huge_pages) for arm in result.arms))


def name(result: Fragmented, row: Row) -> str:
    """`naive jemalloc, huge pages`; the allocator alone where there is one variant only."""
    variant, allocator, huge_pages = row
    more = ", huge pages" if huge_pages == "on" else ""
    return printable(f"{variant} {allocator}{more}" if len(result.variants) > 1 else f"{allocator}{more}")


def row_of(arm: Arm) -> Row:
    """The row that the arm is in."""
    return arm.variant, arm.allocator, arm.huge_pages


def values(arm: Arm) -> list[str]:
    """CPU time, the share of it inside the allocator, faults, memory beyond the litter, and the litter."""
    faults, memory = arm.normalised.get("minor_faults"), arm.normalised.get("peak_resident")
    return [
        units.duration(arm.cpu),
        units.percent(arm.split.share.value) if arm.split else units.UNKNOWN,
        units.count(faults.value) if faults else units.UNKNOWN,
        units.size(memory.value) if memory else units.UNKNOWN,
        units.size(arm.laid.resident) if arm.laid else units.UNKNOWN,
    ]


_MISSES = {
    "instructions": "instructions",
    "accesses": "accesses",
    "first": "first level",
    "last": "last level",
    "tlb": "translations",
}
"""By the field of Misses, how a column is called."""


def _counted(result: Fragmented) -> list[str]:
    """The fields of Misses that some arm has."""
    found = [arm.misses for arm in result.arms if arm.misses]
    return [field for field in _MISSES if any(getattr(each, field) is not None for each in found)]


def miss_columns(result: Fragmented) -> list[str]:
    """Titles of the columns that `misses` fills."""
    return [_MISSES[field] for field in _counted(result)]


def misses(result: Fragmented, arm: Arm) -> list[str]:
    """Instructions, accesses, and misses of each level; in brackets as ratios to the same arm at adv0."""
    if arm.misses is None:
        return []
    base = result.arm(arm.variant, arm.allocator, result.levels[0].name, arm.huge_pages)
    clean = base.misses if base and base.misses else arm.misses
    return [_beside(getattr(arm.misses, field), getattr(clean, field)) for field in _counted(result)]


def _beside(count: int | None, other: int | None) -> str:
    if count is None:
        return units.UNKNOWN
    return f"{units.count(count)} ({units.ratio(count / other)})" if other else units.count(count)


def caches(result: Fragmented) -> str:
    """Describes which misses were counted, and how; empty where none were."""
    found = next((arm.misses for arm in result.arms if arm.misses), None)
    if found is None:
        return ""
    to = f"in brackets as ratios to {result.levels[0].name}"
    if not found.caches:
        return (
            "Misses by hardware counters, in user mode, each in a run of its own, without those of the "
            f"littering; {to}"
        )
    return (
        f"Misses in simulated caches, counted from the end of littering, caches empty at first; "
        f"{to} ({'; '.join(map(printable, found.caches))})"
    )


def layout_bias(result: Fragmented) -> list[str]:
    """Effects of other address-space layouts, a sentence a variant and level."""
    said = []
    for each in result.layout_bias:
        if not each.ratios:
            continue
        low, high = layout_span([each])
        who = f"{each.variant}, " if len(result.variants) > 1 else ""
        tried = f"{units.many(len(each.ratios), 'layout')} tried"
        said.append(
            f"{who}{'bare' if each.level == BARE else each.level}: over other address-space layouts "
            f"CPU time varied {units.ratio(low)} to {units.ratio(high)} times ({tried})"
        )
    return said


def problems(result: Fragmented) -> list[str]:
    """Arms and controls that say nothing, and why."""
    said = [
        f"{name(result, row_of(arm))}, {arm.level}: {printable(arm.problem)}"
        for arm in result.arms
        if arm.problem
    ]
    for each in result.failed_controls:
        who = name(result, (each.variant, each.allocator, ""))
        where = "bare" if each.level == BARE else each.level
        layout = f" in layout {each.layout}" if each.layout else ""
        said.append(f"the control {who}, {where}{layout}: {printable(each.problem)}")
    return said
