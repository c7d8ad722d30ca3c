"""One workload of a study: an experiment in a folder of its own, which goes on where it was stopped."""

import dataclasses
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypedDict

import msgspec

from reap.api import OWN_ALLOCATORS as OWN
from reap.api import (
    Allocator,
    AskedFragment,
    Conditions,
    Cost,
    Folder,
    InterruptedRunError,
    Listener,
    Machine,
    ReapError,
    Run,
    Spec,
    Workload,
    __version__,
    decode,
    digest_of,
    levels_run,
    machine,
    packages,
    read_runs,
    specify,
    write_safely,
)
from reap.api import AskedExperiment as Asked
from reap_studies.study.records import Measured, Mode
from reap_studies.workloads import brought, debian, preparation
from reap_studies.workloads.records import Card

RUN: dict[Mode, float] = {"quick": 0.15, "full": 1.0}
"""About how many seconds a run is to take, as far as a card can say. Two runs of a second say more than one
of two: each start has its own address-space layout, and its own share of what disturbs the machine."""
ROUNDS: dict[Mode, int] = {"quick": 5, "full": 6}
"""So many at least: below five an interval is too wide for a verdict."""
_KNOWN = "workload.json"
"""In the workload's folder: what is measured there. It is there before anything is run."""


@dataclasses.dataclass(frozen=True)
class Work:
    """What is to be measured of one workload, on which heaps, and where that is kept."""

    place: Path
    described: Card
    mode: Mode
    allocators: Sequence[Allocator]
    fragment: AskedFragment
    alone: str = ""
    """The one variant that is run; empty: all of them."""
    peers: Sequence[str] = ()
    """Which allocators of others, of those on the card, are variants, too."""
    part: int = 1
    """So much less is done in a run, where each takes longer than usual."""


class Circumstances(TypedDict):
    """In what a study was made: fields of every Study."""

    reap_version: str
    created: str
    machine: Machine


def circumstances() -> Circumstances:
    """Those of now and here."""
    return Circumstances(
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
    )


def scale_of(described: Card, mode: Mode, seconds: float | None = None) -> int:
    """How much work a run is, as the card counts it: about so many seconds of it, or as the mode has it."""
    wanted = round(described.default_scale * (seconds or RUN[mode]) / described.expected_seconds)
    return max(described.quick_scale, min(wanted, described.default_scale))


def without_own(described: Card) -> str:
    """The variant in which malloc serves all that it can."""
    return "naive" if "naive" in described.variants else next(iter(described.variants))


def lacking(described: Card) -> str:
    """Why the workload cannot run here; empty if it can. It asks what is here, and not what could be had."""
    at = preparation.places(described.name)
    missing = packages.lacking(described.packages)
    if at.source and not Path(at.source).is_dir() and not Path(at.built).is_dir():
        missing.append(debian.named(described.source))
    if not missing:
        return brought.lacking(described)
    return f"{', '.join(missing)} is not installed here (reap workloads prepare --yes {described.name})"


def package_of(described: Card) -> str:
    """The package whose version is the workload's: no compiler that it needs, too; empty for none."""
    if described.source == described.origin.package:
        return described.source
    own = (name for name in described.packages if described.origin.package in name)
    return next(own, described.packages[0] if described.packages else "")


def version_of(described: Card) -> str:
    """Of its Debian package, or reap's own; else what the card says."""
    if described.origin.package == "reap":
        return __version__
    if described.brought is not None:
        return described.brought.version
    package = package_of(described)
    return (packages.version(package) if package else "") or described.origin.version


def excluded(work: Work, why: str) -> Measured:
    """The workload without a result."""
    return msgspec.structs.replace(known(work), excluded=why)


def begin(work: Work, scale: int) -> None:
    """Makes the folder of an experiment in which a run does so much. Throws ReapError."""
    # A kill may have come while the folder was made; nothing was measured in it.
    shutil.rmtree(work.place, ignore_errors=True)
    what = Measured(card=work.described, version=version_of(work.described), scale=scale)
    Folder.create(work.place, spec(work, scale), more={_KNOWN: msgspec.json.encode(what) + b"\n"}).close()


def begun(work: Work) -> bool:
    """Whether there is an experiment to go on with."""
    return (work.place / "experiment.json").is_file()


def cost(work: Work, listener: Listener) -> Cost:
    """What the experiment, which is begun, will take; warms up for it. Throws ReapError."""
    with Folder.resume(work.place) as folder:
        return levels_run.cost(folder, listener)


def runs(work: Work) -> list[Run]:
    """All that have ended; none where nothing was begun. Throws ReapError where they are damaged."""
    return read_runs(work.place / "runs.jsonl")[0] if begun(work) else []


def spent(work: Work, rounds: int) -> float:
    """Seconds that its runs took, those of later rounds left out."""
    return sum(run.seconds for run in runs(work) if run.cell.repeat < rounds)


def measure(work: Work, rounds: int, listener: Listener) -> Measured:
    """Runs what is left of its experiment, so many rounds of it at least.

    Throws InterruptedRunError; whatever else goes wrong is the reason why there is no result.
    """
    if why := lacking(work.described):
        return excluded(work, why)
    try:
        if not begun(work):
            begin(work, scale_of(work.described, work.mode, RUN[work.mode] / work.part))
        with Folder.resume(work.place) as folder:
            return msgspec.structs.replace(known(work), result=levels_run.run(folder, listener, rounds))
    except InterruptedRunError:
        raise
    except ReapError as error:
        return excluded(work, error.what)


def known(work: Work) -> Measured:
    """What is measured, as it was when its experiment was begun."""
    try:
        return decode((work.place / _KNOWN).read_bytes(), Measured)
    except (OSError, msgspec.MsgspecError):
        scale = scale_of(work.described, work.mode, RUN[work.mode] / work.part)
        return Measured(card=work.described, version=version_of(work.described), scale=scale)


def spec(work: Work, scale: int) -> Spec:
    """The experiment: the card's variants, or one of them alone. Throws ReapError."""
    described, allocators = work.described, [_kept(each) for each in work.allocators]
    names = [work.alone] if work.alone else [*described.variants, *work.peers]
    ready = {name: preparation.prepare(described.name, name, scale=scale) for name in names}
    first = ready[names[0]]
    naive, ours = (None, None) if work.alone else (ready.get("naive"), ready.get("reap"))
    return specify(
        first.argv,
        allocators,
        baseline=allocators[0].name,
        # What the variants add to its environment is what switches; none of them takes anything away.
        workload=Workload(name=described.name, directory=first.directory, environment=first.environment),
        conditions=Conditions(runs=ROUNDS[work.mode], pairing=pairing(work)),
        fragmented=dataclasses.replace(
            work.fragment,
            # Of a card that begins with a shell, the shell alone would be littered.
            children=first.argv[0] == "sh",
            naive=naive.argv if naive else (),
            naive_environment=naive.environment if naive else {},
            replaced=ours.argv if ours else (),
            replaced_environment=ours.environment if ours else {},
            peers={name: (ready[name].argv, ready[name].environment) for name in work.peers},
        ),
    )


def _kept(allocator: Allocator) -> Allocator:
    """The same; of Reap's own a copy, by what it contains, so that a rebuilt Reap can go on with it."""
    if allocator.name not in OWN:
        return allocator
    own = Path(allocator.library)
    kept = preparation.cache_folder() / "allocators" / digest_of(own)[:12] / own.name
    if not kept.is_file():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_safely(kept, own.read_bytes(), force=True)
    return msgspec.structs.replace(allocator, library=str(kept))


def pairing(work: Work) -> Asked:
    """How the runs of a round are paired.

    Littered heaps take turns: what their layout costs is cache misses, and runs at the same time share the
    caches. To find out whether copies may meet takes as long as the rounds of a quick study.
    """
    if work.mode == "quick":
        return "sequential"
    return "sliced" if any(each.multiplier for each in work.fragment.levels) else "auto"
