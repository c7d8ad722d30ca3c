"""The figures of one run, and the functions with most of each."""

from collections.abc import Sequence

from reap import native
from reap.base.records import exactly
from reap.check.analyse.leaks import Live
from reap.check.records import FIGURES, Measured, Place
from reap.diff.analyse.difference import totals
from reap.diff.analyse.joined import Stacks, base_name, stacks_of
from reap.recording.analyse.calls import MEASURES, Measure
from reap.recording.analyse.coverage import accepted, coverage, matches
from reap.recording.analyse.coverage import missing as not_recorded
from reap.recording.analyse.frames import names
from reap.recording.analyse.notes import cut, missing
from reap.recording.analyse.profile import profile
from reap.recording.analyse.sites import index_of
from reap.recording.records import PerRequest, UnrecordedAllocator

MOST_PLACES = 3


def measured(recording: native.Recording, suppress: Sequence[str], accept: Sequence[str] = ()) -> Measured:
    """All figures.

    `suppress` are globs of functions whose blocks may be live at exit, `accept` of files: programs and
    libraries that need not be recorded.
    """
    held, stacks = profile(recording, []), stacks_of(recording)
    live = Live(stacks, suppress)
    figures = {str(measure): found for measure, found in totals(recording, held, stacks).items()}
    figures["live-at-exit"] = live.estimate(figures["live-at-exit"])
    places = {
        str(measure): _places(stacks, measure, live.hidden if measure == "live-at-exit" else frozenset())
        for measure in MEASURES
    }
    if held.requests:
        figures["allocs-per-mark"] = exactly(held.requests.allocations.max)
        figures["bytes-per-mark"] = exactly(held.requests.bytes.max)
        places["allocs-per-mark"] = _phases({each.phase: each.allocations for each in held.requests.phases})
        places["bytes-per-mark"] = _phases({each.phase: each.bytes for each in held.requests.phases})
    seen = coverage(recording, cut(recording))
    assert seen is not None  # noqa: S101 - a check records from inside
    rest = accepted(seen, accept)
    allocators = [each for each in held.unrecorded_allocators if not matches(base_name(each.module), accept)]
    return Measured(
        program=base_name(stacks.program),
        seconds=held.seconds,
        figures={figure: figures[figure] for figure in FIGURES if figure in figures},
        places=places,
        suppressed=live.suppressed,
        notes=missing(recording),
        coverage=seen,
        missing=[*not_recorded(rest), *(_not_seen(each) for each in allocators)],
        to_accept=sorted(
            {each.program for each in rest.unrecorded} | {base_name(each.module) for each in allocators}
        ),
    )


def _not_seen(each: UnrecordedAllocator) -> str:
    name = base_name(each.module)
    return f"{name} has functions of {each.allocator}, such as {each.function}, whose calls are not recorded."


def _phases(found: dict[str, PerRequest]) -> list[Place]:
    """Phases with the largest request."""
    order = sorted(found, key=lambda phase: -found[phase].max)
    return [
        Place(function=phase or "no phase", module="phase", file="", line=0, value=found[phase].max)
        for phase in order[:MOST_PLACES]
    ]


def _places(stacks: Stacks, measure: Measure, hidden: frozenset[int]) -> list[Place]:
    """The functions that are sites, by what they allocate."""
    sums: dict[tuple[str, str], list[float]] = {}
    largest: dict[tuple[str, str], tuple[float, int]] = {}
    for node, value in enumerate(stacks.tree.own[measure]):
        if value <= 0 or node in hidden:
            continue
        path = [place for place in stacks.tree.path(node) if not stacks.processes[place]]
        if not path:
            continue
        teller = path[-1 - index_of([stacks.frames[each] for each in reversed(path)])]
        function, _, module = names(stacks.frames[teller])
        key = (function, module)
        sums.setdefault(key, []).append(value)
        largest[key] = max(largest.get(key, (0.0, -1)), (value, teller))
    order = sorted(sums, key=lambda key: (-sum(sums[key]), key))
    return [
        Place(
            function=key[0],
            module=key[1],
            file=stacks.frames[largest[key][1]][3],
            line=stacks.frames[largest[key][1]][4],
            value=sum(sums[key]),
        )
        for key in order[:MOST_PLACES]
    ]
