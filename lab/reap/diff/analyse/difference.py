"""What differs between two recordings: totals, functions, stacks, and a flame graph of both."""

from collections.abc import Iterable
from dataclasses import dataclass

from reap import native
from reap.base.records import Estimate, exactly
from reap.diff.analyse.joined import Joined, Stacks
from reap.diff.records import Change, ChangedFlame, ChangedPlace
from reap.recording.analyse.calls import MEASURES, UNITS, Measure, Tree, large, only
from reap.recording.analyse.estimates import difference
from reap.recording.records import Profile

LEAST = 0.001
"""A box that would be a pixel wide on a page of a thousand."""
MOST_BOXES = 20_000
MOST_PLACES = 100
"""Functions, and stacks, that are kept."""


def change(before: Estimate, after: Estimate) -> Change:
    """How a measure changed, and whether that is more than sampling explains."""
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
    """The same of whole stacks."""
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
    return _cut(joined.before, joined.after, labels, LEAST, MOST_BOXES, estimated=joined.estimated)


def thinned(held: ChangedFlame, most: int) -> ChangedFlame:
    """At most `most` boxes: the smallest functions become part of their callers."""
    if len(held.parents) <= most:
        return held
    before, after = (
        Tree(held.parents, held.at, {m: [float(value) for value in side[m]] for m in MEASURES})
        for side in (held.before, held.after)
    )
    return _cut(before, after, held.functions, held.least * 1.5, most, estimated=held.estimated)


def _cut(
    before: Tree, after: Tree, functions: list[str], least: float, most: int, *, estimated: bool
) -> ChangedFlame:
    kept = [mine or theirs for mine, theirs in zip(large(before, least), large(after, least), strict=True)]
    while sum(kept) > most and least < 1:
        least *= 1.5
        kept = [
            mine or theirs for mine, theirs in zip(large(before, least), large(after, least), strict=True)
        ]
    before, after = only(before, kept), only(after, kept)
    places = {place: number for number, place in enumerate(dict.fromkeys(before.at))}
    return ChangedFlame(
        functions=[functions[place] for place in places],
        parents=before.parents,
        at=[places[place] for place in before.at],
        before={measure: [round(value) for value in before.own[measure]] for measure in MEASURES},
        after={measure: [round(value) for value in after.own[measure]] for measure in MEASURES},
        least=least,
        estimated=estimated,
    )
