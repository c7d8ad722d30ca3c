"""The rounds of a full study on other machines; everything else of it stays here.

What is beside the study's folders is a sweep: its cells are the study's experiments, its blocks their rounds.
The workers are machines of the same kind as this one, and prepare a workload from its card themselves. The
warm-ups are run here, too, and the size profile that litters heaps is that of here. A round that has ended is
copied into the experiment's folder, where figures are drawn from as ever. One that no worker could run, or
not whole, is run here.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from reap.api import (
    SEED,
    WORTH,
    AskedFragment,
    Folder,
    InterruptedRunError,
    Listener,
    ReapError,
    Record,
    Run,
    SweepCell,
    catalog,
    decode,
    ended_rounds,
    levels_run,
    run_rounds,
    sweep_places,
    units,
)
from reap.api import SweepProgram as Program
from reap.api import sweep_worker as worker
from reap_studies.study import measuring
from reap_studies.study.measuring import Work
from reap_studies.study.records import Mode
from reap_studies.workloads import card

_FOLDERS = "elsewhere-{}"
"""A sweep for each number of rounds that intervals needed."""


class Part(Record):
    """What a worker must know of a `Work` to make its experiment."""

    card: str
    mode: Mode
    scale: int
    fragment: AskedFragment
    alone: str
    peers: list[str]
    profile: str
    """The size profile, as its file has it."""


class Elsewhere:
    """Workers that run rounds of a study's experiments."""

    cores = 1
    """How many there are is not known before they join."""

    def __init__(self, place: Path, places: sweep_places.Places, listener: Listener) -> None:
        """`place` is the study's folder."""
        self._place = place
        self._places = places
        self._listener = listener

    def run(self, wanted: Mapping[str, Work], rounds: int) -> None:
        """Has so many rounds of each experiment, by the name of its folder, run as far as workers can.

        Throws InterruptedRunError; what ended is kept.
        """
        ready = {name: work for name, work in wanted.items() if self._begun(work)}
        problems = run_rounds(
            self._place / _FOLDERS.format(rounds),
            [_cell(name, work, rounds) for name, work in ready.items()],
            {name: _whole(work, rounds) for name, work in ready.items()},
            places=self._places,
            work=work_of_study,
            listener=self._listener,
        )
        for problem in problems:
            self._listener.say(f"{problem}; what is missing is run here")
        settle(list(ready.values()), self._listener)

    def _begun(self, work: Work) -> bool:
        """Whether there is an experiment, warmed up here; `measure` will say what is wrong if not."""
        if measuring.lacking(work.described):
            return False
        try:
            if not measuring.begun(work):
                measuring.begin(work, measuring.scale_of(work.described, work.mode))
            measuring.cost(work, self._listener)
        except InterruptedRunError:
            raise
        except ReapError:
            return False
        return True


def settle(works: Sequence[Work], listener: Listener) -> None:
    """Copies the rounds that ended elsewhere into their experiments, those that are there already not again.

    All works are of one study.
    """
    ended: dict[str, list[tuple[int, list[Run]]]] = {}
    for place in {work.place.parent for work in works}:
        for path in sorted(place.glob(_FOLDERS.format("*"))):
            for cell, number, runs in ended_rounds(path):
                ended.setdefault(cell, []).append((number, runs))
    for work in works:
        name = work.place.name
        if name in ended and measuring.begun(work) and (strange := _settled(work, ended[name])):
            said = units.many(strange, "round")
            listener.say(f"{name}: {said} from other machines had not all that a round has here")


def _settled(work: Work, ended: Iterable[tuple[int, list[Run]]]) -> int:
    """How many rounds could not be taken, since an allocator or a variant was missing there."""
    strange = 0
    with Folder.resume(work.place) as folder:
        runner, _ = levels_run.prepared(folder, Listener())
        runner.begin()
        for number, runs in ended:
            wanted = {cell.key() for cell in runner.cells(number)}
            if wanted <= _ended(folder):
                continue
            if not wanted <= {run.cell.key() for run in runs}:
                strange += 1
                continue
            for run in runs:
                folder.append(msgspec.structs.replace(run, order=len(folder.runs)))
    return strange


def _whole(work: Work, rounds: int) -> list[int]:
    """The rounds of which all runs have ended."""
    with Folder.resume(work.place) as folder:
        runner, _ = levels_run.prepared(folder, Listener())
        runner.begin()
        ended = _ended(folder)
        return [n for n in range(rounds) if {cell.key() for cell in runner.cells(n)} <= ended]


def _ended(folder: Folder) -> set[str]:
    return {run.cell.key() for run in folder.runs if not run.warmup}


def _cell(name: str, work: Work, rounds: int) -> SweepCell:
    part = Part(
        card=work.described.name,
        mode=work.mode,
        scale=measuring.known(work).scale,
        fragment=work.fragment,
        alone=work.alone,
        peers=list(work.peers),
        profile=(work.place / levels_run.PROFILE).read_text(),
    )
    return SweepCell(
        name=name,
        program=Program(card=part.card),
        environment={},
        allocators=[catalog.word(each) for each in work.allocators],
        levels=[each.name for each in work.fragment.levels],
        warm_ups=1,
        rounds=rounds,
        timeout=None,
        worth=WORTH,
        seed=SEED,
        experiment=msgspec.json.encode(part).decode(),
    )


def work_of_study(cell: bytes, block: bytes) -> tuple[bool, bytes]:
    """Runs a round on a worker: `worker.Work`."""
    return worker.perform(cell, block, _made)


def _made(cell: SweepCell, place: Path) -> Folder:
    part = decode(cell.experiment.encode(), Part)
    work = Work(
        place=place / "runs",
        described=card.load(part.card),
        mode=part.mode,
        allocators=catalog.parse(",".join(cell.allocators)),
        fragment=part.fragment,
        alone=part.alone,
        peers=part.peers,
    )
    profile = {levels_run.PROFILE: part.profile.encode()}
    return Folder.create(work.place, measuring.spec(work, part.scale), more=profile)
