"""Table 4 and Figure 7 of OOPSLA 2002 as an experiment: each workload once under the exact drag engine.

Two things are looked at. Objects: what the program allocates, each by itself, freed where its own allocator
frees it. Chunks: malloc's blocks under the program's own allocator, whatever is in them. What is counted is
always the same, so that there is one run of each, some ten times slower than usual, of little work.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from reap.analysis.drag import profile
from reap.analysis.drag_records import DragLevel, DragProcess
from reap.analysis.drag_reserve import without_reserve
from reap.errors import ReapError
from reap.experiment import card, workload
from reap.launch import drag, drag_tool
from reap.study import kept, measuring
from reap.study.oopsla2002_drag_records import Dragged, Group
from reap.study.records import Drag, Mode
from reap.trace.drag import read_all

SECONDS: dict[Mode, float] = {"quick": 0.1, "full": 1.0}
"""About how long the same run would take by itself."""
LCC = "region-compiler"
"""In the place of lcc, whose curves are Figure 7(b)."""
_PATIENCE: dict[Mode, float] = {"quick": 3.0, "full": 30.0}
"""How long a run may take by itself; the engine gets twenty times as long."""
_DEPTH = 8
"""Frames that tell the sites in a drawing."""


def group_of(described: card.Card) -> Group:
    """Where the workload stands in Figure 7(a): regions are what frees all of its objects together."""
    if described.kind == "ordinary":
        return "ordinary"
    return "region" if "bulk" in described.frees else "custom"


def take(
    place: Path, described: card.Card, mode: Mode, tell: Callable[[str], None], *, late: bool = False
) -> Drag:
    """Runs the workload under the engine and keeps what that saw in `place`.

    What is kept is not run again, and nothing is run where it is too late for it. Whatever goes wrong is the
    reason why there is nothing, and is tried again the next time. Throws ReapError if it cannot be kept.
    """
    scale = measuring.scale_of(described, "quick", SECONDS[mode])
    known = Drag(card=described, version=measuring.version_of(described), scale=scale)
    if late:
        why = "no time was left for it in a quick study; going on with it takes this up"
        return kept.read(place, known) or msgspec.structs.replace(known, excluded=why)
    return kept.once(place, known, lambda wanted: _taken(wanted, mode, tell))


def _taken(known: Drag, mode: Mode, tell: Callable[[str], None]) -> Drag:
    described = known.card
    engine = drag_tool.ready(tell)
    plain = measuring.without_own(described)
    notes: list[str] = []
    objects = None
    if why := _unseen(described):
        notes.append(why)
    else:
        objects = _dragged(_run(known, plain, _PATIENCE[mode], engine, notes), described, plain)
    chunks = None
    if described.kind != "ordinary":
        own = next(iter(described.variants))
        chunks = _dragged(_run(known, own, _PATIENCE[mode], engine, notes), described, own)
    return msgspec.structs.replace(known, objects=objects, chunks=chunks, notes=notes)


def _unseen(described: card.Card) -> str:
    """Why no variant shows its objects; empty if one does."""
    if group_of(described) != "region" or described.name == LCC or "individual" in described.frees:
        return ""
    return "objects: freed one by one, each is read as it is freed, which hides its drag"


def _run(known: Drag, variant: str, patience: float, engine: Path, notes: list[str]) -> DragProcess:
    """Of the run's processes the one that allocates most; `notes` get what is to be known of it."""
    named = f"{known.card.name}, {variant},"
    ready = card.prepare(known.card.name, variant, scale=known.scale)
    launch = msgspec.structs.replace(workload.launch_of(ready), timeout=patience)
    if ready.argv[0] == "sh":
        raise ReapError(f"{named} is a server and what asks it: drag is of one program")
    with tempfile.TemporaryDirectory(prefix="reap-drag-") as name:
        folder = Path(name)
        outcome = drag.run(launch, engine, folder, depth=_DEPTH)
        if outcome.timed_out:
            raise ReapError(f"{named} did not end in time under the drag engine")
        if outcome.status != 0:
            raise ReapError(f"{named} ended with {outcome.status} under the drag engine")
        recordings = read_all(folder, drag.RECORDINGS, drag.complaints(folder))
        seen = profile(recordings, ready.argv, status=outcome.status, notes=[])
    if not seen.processes:
        raise ReapError(f"{named} allocates nothing")
    first, *others = seen.processes
    notes += [f"{variant}: {said}" for said in first.notes]
    if others:
        notes.append(f"{variant}: of {len(seen.processes)} processes, the one that allocates most")
    return first


def _dragged(process: DragProcess, described: card.Card, variant: str) -> Dragged:
    return Dragged(variant=variant, marked=False, level=_drawn(without_reserve(process.levels[0]), described))


def _drawn(level: DragLevel, described: card.Card) -> DragLevel:
    """With what is drawn of it: curve and sites of the programs with regions."""
    if group_of(described) != "region":
        return msgspec.structs.replace(level, curve=[], sites=[])
    sites = [site for site in level.sites if site.dragged is not None]
    return msgspec.structs.replace(level, sites=sites)
