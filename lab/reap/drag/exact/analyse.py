"""From drag recordings to what `reap drag` says."""

from typing import Literal

import msgspec

from reap import native
from reap.drag.exact.records import DragLevel, DragPoint, DragProcess, DragProfile, DragSite, Tally
from reap.recording.analyse.frames import Frame, names
from reap.recording.analyse.sites import index_of, lines_of, telling, via

BINS = 400
"""Stretches of a curve."""
_MOST_STACKS = 2000
"""Whose names are looked up: those that drag most, and as many of those with the most bytes."""
_MOST_SITES = 200
_MOST_FREED = 24
"""Sites for which the peak without their drag is worked out."""
_MOST_DRAWN = 3

_ENDS: dict[str, Literal["exited", "exec", "killed"]] = {"exited": "exited", "exec": "exec"}


def profile(
    drags: list[native.Drag],
    command: list[str],
    *,
    status: int,
    notes: list[str],
    engine: Literal["exact", "recompiled"] = "exact",
) -> DragProfile:
    """Everything that the recordings of a run say; processes without an allocation are left out."""
    processes = [process(drag) for drag in drags if drag.header().objects]
    return DragProfile(
        command=command,
        engine=engine,
        status=status,
        processes=sorted(processes, key=lambda each: -each.levels[0].total.bytes),
        notes=notes,
    )


def process(drag: native.Drag) -> DragProcess:
    """Allocations of one process, and their drag."""
    header = drag.header()
    chains: dict[int, list[Frame]] = {}
    early = drag.before_free() if header.released else None
    levels = [_both(drag, early, chains, chunks=False)]
    if header.pooled:
        chunks = _both(drag, early, chains, chunks=True)
        levels += [chunks] if chunks.total.objects else []
    return DragProcess(
        pid=header.pid,
        parent=header.parent,
        command=header.command,
        forked=header.forked,
        end="exited" if header.full else _ENDS.get(header.end, "killed"),
        levels=levels,
        notes=_notes(header),
    )


def _notes(header: native.DragHeader) -> list[str]:
    notes = []
    if header.full:
        notes.append(
            "recording stopped before the process ended: later allocations are missing, and what was in use "
            "counts as needed; the disk was full (set TMPDIR to a folder with more room), or it made two "
            "billion allocations"
        )
    elif header.end == "killed":
        notes.append(
            "it was killed, or goes on: what it had in use counts as needed to the end, "
            "so drag is understated"
        )
    if header.malformed:
        notes.append("its recording is damaged: what comes after the damage is missing")
    return notes


def _both(
    drag: native.Drag, early: native.Drag | None, chains: dict[int, list[Frame]], *, chunks: bool
) -> DragLevel:
    level = _level(drag, chains, chunks=chunks)
    if early is None or not level.released.objects:
        return level
    return msgspec.structs.replace(level, before_free=_level(early, chains, chunks=chunks))


def _level(drag: native.Drag, chains: dict[int, list[Frame]], *, chunks: bool) -> DragLevel:
    level = drag.level(chunks, BINS)
    totals = level.totals()
    size = totals.all.bytes
    return DragLevel(
        name="chunks" if chunks else "objects",
        total=_tally(totals.all),
        drag=totals.live / totals.needed if totals.needed else 1.0,
        live_area=str(totals.live),
        needed_area=str(totals.needed),
        peak=totals.peak_live,
        needed_peak=totals.peak_needed,
        peak_ratio=totals.peak_live / totals.peak_needed if totals.peak_needed else 1.0,
        peak_at=totals.peak_at,
        never=_tally(totals.never),
        write_only=_tally(totals.write_only),
        released=_tally(totals.released),
        curve=[
            # A stretch within one large allocation has no step of its own.
            DragPoint(
                at=_brief(size * number / BINS),
                live=_brief(live),
                needed=_brief(needed),
                most_live=_brief(max(most_live, live)),
                most_needed=_brief(max(most_needed, needed)),
            )
            for number, (live, needed, most_live, most_needed) in enumerate(level.curve())
        ],
        sites=_sites(drag, level, totals, chains),
    )


def _tally(counted: native.DragCount) -> Tally:
    return Tally(objects=counted.objects, bytes=counted.bytes)


def _dragged(site: native.DragSite) -> int:
    return site.live - site.needed


class _Group:
    """Stacks that are one site."""

    def __init__(self, chain: list[Frame]) -> None:
        self.chain = chain
        self.stacks: list[int] = []
        self.totals: list[native.DragSite] = []

    def sum(self, name: Literal["live", "needed", "live_at_peak", "dragged_at_peak"]) -> int:
        values: list[int] = [getattr(each, name) for each in self.totals]
        return sum(values)

    def tally(self, name: Literal["all", "never", "write_only", "released"]) -> Tally:
        counts: list[native.DragCount] = [getattr(each, name) for each in self.totals]
        return Tally(
            objects=sum(count.objects for count in counts), bytes=sum(count.bytes for count in counts)
        )

    @property
    def dragged(self) -> int:
        return self.sum("live") - self.sum("needed")


def _brief(size: float) -> float:
    """A tenth of a byte is more than anybody draws, and half as long in a file; areas are exact elsewhere."""
    return round(size, 1)


def _sites(
    drag: native.Drag, level: native.DragLevel, totals: native.DragPeaks, chains: dict[int, list[Frame]]
) -> list[DragSite]:
    stacks = level.sites()
    groups = _groups(drag, stacks, chains)
    groups.sort(key=lambda group: (-group.dragged, -group.tally("all").bytes))
    at_peak = sorted(groups, key=lambda group: -group.sum("dragged_at_peak"))
    worth = {id(group) for group in at_peak[:_MOST_FREED] if group.sum("dragged_at_peak")}
    drawn = {id(group) for group in groups[:_MOST_DRAWN] if group.dragged}
    first = sorted(
        (group for group in groups if id(group) in worth | drawn), key=lambda g: id(g) not in drawn
    )
    freed = level.freed_early([group.stacks for group in first], len(drawn)) if first else []
    early = {id(group): each for group, each in zip(first, freed, strict=True)}
    whole = totals.live - totals.needed
    sites = []
    for group in groups[:_MOST_SITES] + [each for each in groups[_MOST_SITES:] if id(each) in worth]:
        peak, curve = early.get(id(group), (None, None))
        function, location, module = names(telling(group.chain))
        every = group.tally("all")
        sites.append(
            DragSite(
                function=function,
                location=location,
                module=module,
                via=via(group.chain, index_of(group.chain)),
                stack=lines_of(group.chain),
                objects=every.objects,
                bytes=every.bytes,
                live_area=str(group.sum("live")),
                needed_area=str(group.sum("needed")),
                share=group.dragged / whole if whole else 0.0,
                live_at_peak=group.sum("live_at_peak"),
                dragged_at_peak=group.sum("dragged_at_peak"),
                saves=None if peak is None else totals.peak_live - peak,
                never=group.tally("never"),
                write_only=group.tally("write_only"),
                released=group.tally("released"),
                dragged=[_brief(each) for each in curve] if curve and id(group) in drawn else None,
            )
        )
    return sites


def _groups(
    drag: native.Drag, stacks: dict[int, native.DragSite], chains: dict[int, list[Frame]]
) -> list[_Group]:
    """Stacks whose innermost telling frame is the same; what is too little to be named is one group."""
    by_bytes = sorted(stacks, key=lambda stack: -stacks[stack].all.bytes)
    by_drag = sorted(stacks, key=lambda stack: -_dragged(stacks[stack]))
    named = {*by_bytes[:_MOST_STACKS], *by_drag[:_MOST_STACKS]}
    found: dict[tuple[str, str, str], _Group] = {}
    for stack in by_bytes:
        if stack in named and stack not in chains:
            chains[stack] = drag.frames(stack)
        chain = chains.get(stack, []) if stack in named else []
        key = names(telling(chain)) if stack in named else ("(other sites)", "", "")
        group = found.setdefault(key, _Group(chain or [("", 0, "(other sites)", "", 0, False)]))
        group.stacks.append(stack)
        group.totals.append(stacks[stack])
    return list(found.values())
