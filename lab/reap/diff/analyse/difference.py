"""Differences between two recordings: totals, functions, stacks, and a flame graph of both."""

from collections.abc import Iterable
from dataclasses import dataclass

from reap import native
from reap.base.records import Estimate, exactly
from reap.diff.analyse.joined import Joined, Stacks
from reap.diff.records import Change, ChangedFlame, ChangedPlace
from reap.recording.analyse.boxes import Boxes, boxes, fewer
from reap.recording.analyse.calls import MEASURES, UNITS, Measure
from reap.recording.analyse.estimates import difference
from reap.recording.records import Profile

MOST_PLACES = 100
"""Functions, and stacks, that are kept."""


def change(before: Estimate, after: Estimate) -> Change:
    """Change of a measure, and whether that is more than sampling explains."""
    found = difference(before, after)
    if found.exact:
        verdict = "grew" if found.value > 0 else "shrank" if found.value < 0 else "same"
    else:
        verdict = "grew" if found.low > 0 else "shrank" if found.high < 0 else "inconclusive"
    return Change(before=before, after=after, change=found, verdict=verdict)  # type: ignore[arg-type]


def totals(recording: native.Recording, profile: Profile, stacks: Stacks) -> dict[Measure, Estimate]:
    """The measures of a whole recording. Counts of triage are exact, the others have an interval."""
    whole, held = recording.totals(), profile.totals
    peak = held.max_bytes
    if profile.depth == "full":
        temporary, live = exactly(whole.temporary), exactly(whole.immortal_bytes)
    else:
        share, objects = profile.temporary, held.total_objects
        temporary = Estimate(
            value=share.value * objects,
            low=0.0 if stacks.few else share.low * objects,
            high=objects if stacks.few else share.high * objects,
        )
        # Those in use at the end are some of the sampled blocks: their variance is at most that of all.
        live = stacks.estimate(whole.immortal_bytes, sum(stacks.variance["bytes"]), "bytes")
        sampled = stacks.estimate(peak.value, whole.in_use.max_bytes_variance, "bytes")
        peak = Estimate(value=peak.value, low=min(peak.low, sampled.low), high=max(peak.high, sampled.high))
    return {
        "allocations": exactly(held.total_objects),
        "bytes": exactly(held.total_bytes),
        "peak": peak,
        "temporary": temporary,
        "live-at-exit": live,
    }


@dataclass
class _Sums:
    """Of some stacks: by measure, and the variance by unit. First those of before, then those of after."""

    own: list[dict[Measure, float]]
    variance: list[dict[str, float]]


def _sums(joined: Joined, nodes: Iterable[int]) -> _Sums:
    kept = list(nodes)
    trees = (joined.before, joined.after)
    return _Sums(
        [{measure: sum(tree.own[measure][node] for node in kept) for measure in MEASURES} for tree in trees],
        [{unit: sum(held[unit][node] for node in kept) for unit in held} for held in joined.variances],
    )


def functions(joined: Joined, by: Measure) -> list[ChangedPlace]:
    """The functions that allocate more or less than before; the largest change first."""
    found: dict[int, list[int]] = {}
    for node in _allocating(joined):
        found.setdefault(joined.teller(joined.stack(node)), []).append(node)
    return _places(joined, [(teller, nodes, []) for teller, nodes in found.items() if teller >= 0], by)


def stacks(joined: Joined, by: Measure) -> list[ChangedPlace]:
    """Stacks that allocate more or less than before; the largest change first."""
    whole = ((node, joined.stack(node)) for node in _allocating(joined))
    return _places(joined, [(joined.teller(stack), [node], stack) for node, stack in whole if stack], by)


def _allocating(joined: Joined) -> list[int]:
    columns = [tree.own[measure] for tree in (joined.before, joined.after) for measure in MEASURES]
    return [node for node in range(len(joined.before.parents)) if any(column[node] for column in columns)]


def _places(joined: Joined, found: list[tuple[int, list[int], list[int]]], by: Measure) -> list[ChangedPlace]:
    summed = [(teller, stack, _sums(joined, nodes)) for teller, nodes, stack in found]
    changed = [each for each in summed if each[2].own[0] != each[2].own[1]]
    changed.sort(
        key=lambda each: -abs(each[2].own[1][by] - each[2].own[0][by])
    )  # stable: before that, as met
    return [_place(joined, *each) for each in changed[:MOST_PLACES]]


def _place(joined: Joined, teller: int, stack: list[int], sums: _Sums) -> ChangedPlace:
    name = joined.names[teller]
    changes = {}
    for measure in MEASURES:
        unit = UNITS[measure]
        # Blocks of the other measures are some of those sampled, whose variance is that of all at most.
        before, after = (
            side.estimate(own[measure], variance[unit], unit)
            for own, variance, side in zip(sums.own, sums.variance, joined.sides, strict=True)
        )
        changes[str(measure)] = change(before, after)
    lines = [joined.names[each].line for each in reversed(stack)]
    return ChangedPlace(function=name.function, module=name.module, stack=lines, changes=changes)


def flame(joined: Joined) -> ChangedFlame | None:
    """Whole stacks of both; None where neither has any."""
    if not joined.before.parents:
        return None
    labels = [name.function if name.function.strip() else "unknown" for name in joined.names]
    return _flame(boxes([joined.before, joined.after], labels), estimated=joined.estimated)


def thinned(held: ChangedFlame, most: int) -> ChangedFlame:
    """At most `most` boxes: the smallest functions become part of their callers."""
    found = Boxes(held.functions, held.parents, held.at, [held.before, held.after], held.least)
    return _flame(fewer(found, most), estimated=held.estimated)


def _flame(found: Boxes, *, estimated: bool) -> ChangedFlame:
    before, after = found.own
    return ChangedFlame(
        functions=found.functions,
        parents=found.parents,
        at=found.at,
        before=before,
        after=after,
        least=found.least,
        estimated=estimated,
    )
