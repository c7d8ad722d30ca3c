"""*Reconsidering "Reconsidering Custom Memory Allocation"* (ISMM 2026) made again on our workloads.

Each workload is an experiment on fragmented heaps in a folder of its own below the study's, so that a study
that was stopped goes on where it was. One that cannot run here is left out, with the reason.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reap import __version__
from reap.allocators import packages
from reap.allocators.records import Allocator
from reap.errors import ExitCode, ReapError
from reap.experiment import card, matrix, provision
from reap.experiment.folder import Folder
from reap.experiment.matrix_records import Fragmented
from reap.experiment.runner import InterruptedRunError, Listener
from reap.experiment.spec import Fragmented as Asked
from reap.experiment.spec import Spec, specify
from reap.launch import level, machine
from reap.launch.level import LEVELS, Level
from reap.study import ismm2026_claims as claims
from reap.study.records import Measured, Mode, Plan, Study

NAME = "ismm2026"
WORKLOADS = (
    "bouncing-balls", "flow-optimizer", "freelist", "cpython", "gawk", "sqlite-lookaside",
    "expression-compiler", "fpga-placer", "geometry-pass", "request-server", "subversion", "rapidjson",
    "boost-json", "protobuf", "clang", "chart-parser", "mesh-sculptor", "php", "tshark", "nim",
)  # fmt: skip
"""Per-class, regions, hybrids: the paper's order."""
ALLOCATORS = ("glibc", "jemalloc", "mimalloc")
OCCUPANCY = ("chart-parser", "clang")
"""What Figure 3 is of; over jemalloc, at multiplier 10."""
OCCUPANCY_LEVELS = "10x0.2,10x0.5,10x0.8"
CACHES = "i7-8559u"
"""The smaller ones of the paper (section 5): what does not fit there is seen at a tenth of the work, too."""

QUICK_SECONDS = 600.0
"""What all experiments of a quick study take together; the rest of its 15 minutes is for what is built."""
QUICK_PART = 10
"""A quick study does so much less work than a full one in each run."""
SIMULATED_PART = 5
"""And so much less again where caches are simulated."""
ROUNDS = 10
"""Of a full study, and of what is for Figure 3."""

_PLAN = "plan.json"


def begin(place: Path, plan: Plan) -> None:
    """Makes the study's folder. Throws ReapError if it exists."""
    try:
        place.mkdir(parents=True)
        (place / _PLAN).write_bytes(msgspec.json.format(msgspec.json.encode(plan), indent=1) + b"\n")
    except FileExistsError:
        raise ReapError(
            f"{place} exists already",
            f"name another with --output, or go on with: reap study {plan.study} --resume {place}",
        ) from None
    except OSError as error:
        raise ReapError(f"{place} cannot be made: {error.strerror}", "name another with --output") from error


def resumed(place: Path) -> Plan:
    """The plan of a study that was begun there. Throws ReapError."""
    try:
        return msgspec.json.decode((place / _PLAN).read_bytes(), type=Plan)
    except (OSError, msgspec.MsgspecError) as error:
        raise ReapError(
            f"{place} is no folder of a study: {error}",
            "give the folder that `reap study` made",
            ExitCode.USAGE,
        ) from error


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    if strange := [name for name in workloads if name not in WORKLOADS]:
        raise ReapError(
            f"{', '.join(strange)} is no workload of this study",
            f"it has {', '.join(WORKLOADS)}",
            ExitCode.USAGE,
        )
    return Plan(study=NAME, mode=mode, workloads=workloads or list(WORKLOADS), allocators=allocators)


def run(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
    """Runs what is left of the study and judges it.

    Throws InterruptedRunError on Ctrl-C, after which it can go on; whatever else goes wrong with a workload
    leaves that workload out.
    """
    swept = [name for name in OCCUPANCY if name in plan.workloads and _can_sweep(name, plan.mode)]
    share = QUICK_SECONDS / len(plan.workloads) if plan.mode == "quick" else None
    measured, occupancy = [], []
    for number, name in enumerate(plan.workloads, 1):
        listener.say(f"{name} ({number} of {len(plan.workloads)})")
        measured.append(_measure(place / name, name, _Heaps(plan.mode, share), allocators, listener))
    for name in swept:
        listener.say(f"{name} at the occupancies of Figure 3")
        chosen = [each for each in allocators if each.name == "jemalloc"] or allocators[:1]
        # Without a budget: one that was used up would leave out the caches.
        heaps = _Heaps(plan.mode, None, swept=True)
        occupancy.append(_measure(place / f"{name}-occupancy", name, heaps, chosen, listener))
    return Study(
        plan=plan,
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        measured=measured,
        occupancy=occupancy,
        conclusions=claims.judge(measured, occupancy),
    )


def scale_of(described: card.Card, mode: Mode, *, swept: bool = False) -> int:
    """How much work a run of the study does, as the card counts it."""
    if mode == "full":
        return described.default_scale
    part = QUICK_PART * SIMULATED_PART if swept else QUICK_PART
    return max(described.quick_scale, described.default_scale // part)


def _can_sweep(name: str, mode: Mode) -> bool:
    """Simulated caches take fifty times as long: quickly only where there can be less to do."""
    return mode == "full" or bool(card.load(name).scale)


@dataclass(frozen=True)
class _Heaps:
    """On which heaps a workload runs, and how long."""

    mode: Mode
    seconds: float | None
    swept: bool = False
    """Whether it is for Figure 3."""

    @property
    def levels(self) -> list[Level]:
        if self.swept:
            return level.parse(OCCUPANCY_LEVELS)
        return [LEVELS["adv0"], LEVELS["adv3"]] if self.mode == "quick" else list(LEVELS.values())

    @property
    def caches(self) -> str:
        return CACHES if self.swept else ""

    @property
    def controls(self) -> bool:
        return self.mode == "full" and not self.swept


def _measure(
    place: Path, name: str, heaps: _Heaps, allocators: list[Allocator], listener: Listener
) -> Measured:
    described = card.load(name)
    scale = scale_of(described, heaps.mode, swept=heaps.swept)
    version = __version__ if described.origin.package == "reap" else _version(described)
    known = Measured(card=described, version=version, scale=scale)
    lack = provision.plan([name]).lacks[0]
    if lack.packages or lack.source:
        missing = ", ".join([*lack.packages, *([f"the source of {lack.source}"] if lack.source else [])])
        why = f"{missing} is not installed here (reap workloads prepare --yes {name})"
        return msgspec.structs.replace(known, excluded=why)
    try:
        return msgspec.structs.replace(
            known, result=_experiment(place, described, scale, heaps, allocators, listener)
        )
    except InterruptedRunError:
        raise
    except ReapError as error:
        return msgspec.structs.replace(known, excluded=error.what)


def _experiment(
    place: Path,
    described: card.Card,
    scale: int,
    heaps: _Heaps,
    allocators: list[Allocator],
    listener: Listener,
) -> Fragmented:
    if (place / "experiment.json").is_file():
        opened = Folder.resume(place)
    else:
        opened = Folder.create(place, _spec(described, scale, heaps, allocators))
    with opened as folder:
        return matrix.run(folder, listener)


def _spec(described: card.Card, scale: int, heaps: _Heaps, allocators: list[Allocator]) -> Spec:
    """The card's variants at these heaps; for Figure 3 the last of them alone."""
    ready = {name: card.prepare(described.name, name, scale=scale) for name in described.variants}
    first = next(iter(ready.values()))
    if heaps.swept:
        first = list(ready.values())[-1]
        ready = {}
    naive, ours = ready.get("naive"), ready.get("reap")
    return specify(
        first.argv,
        allocators,
        baseline=allocators[0].name,
        workload=described.name,
        directory=first.directory,
        # What the variants add to it is what switches; none of them takes anything away.
        environment=first.environment,
        runs=0 if heaps.seconds else ROUNDS,
        budget=heaps.seconds,
        fragmented=Asked(
            levels=heaps.levels,
            naive=naive.argv if naive else (),
            naive_environment=naive.environment if naive else {},
            replaced=ours.argv if ours else (),
            replaced_environment=ours.environment if ours else {},
            layouts=2 if heaps.controls else 0,
            controls=heaps.controls,
            caches=heaps.caches,
        ),
    )


def _version(described: card.Card) -> str:
    """Of what Debian's program is, or is built from."""
    return packages.version(described.packages[0])
