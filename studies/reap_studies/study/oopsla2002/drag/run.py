"""Table 4 and Figure 7 of OOPSLA 2002 as an experiment: each workload once under the exact drag engine.

Two things are looked at. Objects: what the program allocates, until it is freed, alone or with its region.
Chunks: malloc's blocks under the program's own allocator, whatever is in them. What is counted is always the
same: there is one run of each, some ten times slower than usual, of little work.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

from reap.api import DragLevel, DragProcess, ReapError, valgrind, without_reserve
from reap.api import drag_launch as drag
from reap.api import drag_profile as profile
from reap.api import read_drag as read_all
from reap_studies.study import kept, measuring
from reap_studies.study.oopsla2002.drag.records import Dragged, Group
from reap_studies.study.records import Drag, Mode
from reap_studies.workloads import preparation
from reap_studies.workloads import run as workload
from reap_studies.workloads.records import Card, Ready

SECONDS: dict[Mode, float] = {"quick": 0.1, "full": 0.5}
"""About how long the same run would take by itself."""
LCC = "lcc"
"""Whose curves are Figure 7(b), and of which the paper says that it drags most."""
_PATIENCE: dict[Mode, float] = {"quick": 3.0, "full": 30.0}
"""How long a run may take by itself; the engine gets twenty times as long."""
_DEPTH = 8
"""Frames that tell the sites in a drawing."""


def group_of(described: Card) -> Group:
    """Where the workload stands in Figure 7(a): regions are what frees all of its objects together."""
    if described.kind == "ordinary":
        return "ordinary"
    return "region" if "bulk" in described.frees else "custom"


def take(
    place: Path, described: Card, mode: Mode, tell: Callable[[str], None], *, late: bool = False
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


def shows_objects(described: Card) -> tuple[str, bool] | None:
    """Which variant shows each object, and whether it must be built so that it reports what it allocates.

    What we compile says so, and some cards have a variant for it. Of the others, the variant without its
    allocator shows them to malloc, if the program frees objects one by one. None where it does not: that
    variant reads each as it frees it.
    """
    if preparation.can_be_marked(described):
        return next(iter(described.variants)), True
    if described.emulated is not None:
        return preparation.EMULATED, False
    if described.kind != "ordinary" and "individual" not in described.frees:
        return None
    return measuring.without_own(described), False


def _taken(known: Drag, mode: Mode, tell: Callable[[str], None]) -> Drag:
    described = known.card
    run = _Runs(known, _PATIENCE[mode], valgrind.ready(tell))
    own = next(iter(described.variants))
    objects = chunks = None
    if shown := shows_objects(described):
        variant, marked = shown
        levels = run.levels(variant, marked=marked)
        objects = Dragged(variant=variant, marked=marked, level=_drawn(levels["objects"], described))
        if variant == own and "chunks" in levels:
            chunks = Dragged(variant=variant, marked=marked, level=_bare(levels["chunks"]))
    else:
        run.notes.append("objects: freed one by one, each is read as it is freed, which hides its drag")
    if chunks is None and described.kind != "ordinary":
        try:
            chunks = Dragged(variant=own, marked=False, level=_bare(run.levels(own)["objects"]))
        except ReapError as error:
            if objects is None:
                raise
            run.notes.append(f"chunks: {error.what}")
        if described.chunks_from == "system":
            run.notes.append("chunks: without those that its own allocator maps")
    return msgspec.structs.replace(known, objects=objects, chunks=chunks, notes=run.notes)


class _Runs:
    """Runs of one workload."""

    def __init__(self, known: Drag, patience: float, engine: Path) -> None:
        self._known = known
        self._patience = patience
        self._engine = engine
        self.notes: list[str] = []
        """What is to be known of them."""

    def levels(self, variant: str, *, marked: bool = False) -> dict[str, DragLevel]:
        """What the engine saw of the process that allocates most, by level. Throws ReapError."""
        known = self._known
        ready = preparation.prepare(known.card.name, variant, scale=known.scale, marked=marked)
        process = self._process(ready)
        levels: dict[str, DragLevel] = {each.name: without_reserve(each) for each in process.levels}
        if marked and "chunks" not in levels:
            raise ReapError(f"{known.card.name}, {variant}, did not report what its allocators allocate")
        return levels

    def _process(self, ready: Ready) -> DragProcess:
        named = f"{ready.card.name}, {ready.variant},"
        if ready.argv[0] == "sh":
            raise ReapError(f"{named} is started by a shell: drag is measured of a single program")
        launch = msgspec.structs.replace(workload.launch_of(ready), timeout=self._patience)
        with tempfile.TemporaryDirectory(prefix="reap-drag-") as name:
            folder = Path(name)
            outcome = drag.run(launch, self._engine, folder, depth=_DEPTH)
            if outcome.timed_out:
                raise ReapError(f"{named} did not end in time under the drag engine")
            if outcome.status != 0:
                raise ReapError(f"{named} ended with {outcome.status} under the drag engine")
            recordings = read_all(folder, drag.RECORDINGS, drag.complaints(folder))
            seen = profile(recordings, ready.argv, status=outcome.status, notes=[])
        if not seen.processes:
            raise ReapError(f"{named} allocates nothing")
        first, *others = seen.processes
        self.notes += [f"{ready.variant}: {said}" for said in first.notes]
        if others:
            count = len(seen.processes)
            self.notes.append(f"{ready.variant}: of {count} processes, the one that allocates most")
        return first


def _drawn(level: DragLevel, described: Card) -> DragLevel:
    """With what is drawn of it: curve and sites of the programs with regions."""
    if group_of(described) != "region":
        return _bare(level)
    sites = [site for site in level.sites if site.dragged is not None]
    return msgspec.structs.replace(level, sites=sites)


def _bare(level: DragLevel) -> DragLevel:
    return msgspec.structs.replace(level, curve=[], sites=[])
