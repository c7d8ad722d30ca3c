"""*Reconsidering "Reconsidering Custom Memory Allocation"* (ISMM 2026) made again on our workloads.

Each workload is an experiment on fragmented heaps in a folder of its own below the study's, so that a study
that was stopped goes on where it was. One that cannot run here is left out, with the reason.
"""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from reap import __version__
from reap.allocators.records import Allocator
from reap.experiment import card
from reap.experiment.runner import Listener
from reap.experiment.spec import Fragmented as Asked
from reap.experiment.spec import Spec
from reap.launch import level, machine
from reap.launch.level import LEVELS, Level
from reap.study import ismm2026_claims as claims
from reap.study import judging, measuring, slowdowns
from reap.study.folder import make_plan
from reap.study.ismm2026_answers import answers
from reap.study.measuring import spec_of
from reap.study.records import Measured, Mode, Plan, Study

NAME = "ismm2026"
WORKLOADS = (
    "bouncing-balls", "flow-optimizer", "freelist", "cpython", "gawk", "sqlite-lookaside",
    "expression-compiler", "fpga-placer", "geometry-pass", "request-server", "subversion", "rapidjson",
    "boost-json", "protobuf", "clang", "chart-parser", "mesh-sculptor", "php", "tshark", "nim",
)  # fmt: skip
"""Per-class, regions, hybrids: the paper's order."""
ALLOCATORS: tuple[str, ...] = ("glibc", "jemalloc", "mimalloc")
OCCUPANCY = ("chart-parser", "clang")
"""What Figure 3 is of; over jemalloc, at multiplier 10."""
OCCUPANCY_LEVELS = "10x0.2,10x0.5,10x0.8"
CACHES = "i7-8559u"
"""The smaller ones of the paper (section 5): what does not fit there is seen at a tenth of the work, too."""

SIMULATED_PART = 5
"""So much less again is done in each run of a quick study where caches are simulated."""


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    return make_plan(NAME, WORKLOADS, mode, workloads, allocators)


def run(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
    """Runs what is left of the study and judges it.

    Throws InterruptedRunError on Ctrl-C, after which it can go on; whatever else goes wrong with a workload
    leaves that workload out.
    """
    swept = [name for name in OCCUPANCY if name in plan.workloads and _can_sweep(name, plan.mode)]
    share = measuring.QUICK_SECONDS / len(plan.workloads) if plan.mode == "quick" else None
    measured = []
    for number, name in enumerate(plan.workloads, 1):
        listener.say(f"{name} ({number} of {len(plan.workloads)})")
        measured.append(_measure(place / name, name, _Heaps(plan.mode, share), allocators, listener))
    occupancy = []
    for name in swept:
        listener.say(f"{name} at the occupancies of Figure 3")
        chosen = [each for each in allocators if each.name == "jemalloc"] or allocators[:1]
        # Without a budget: one that was used up would leave out the caches.
        heaps = _Heaps(plan.mode, None, simulated=OCCUPANCY_LEVELS)
        occupancy.append(_measure(place / f"{name}-occupancy", name, heaps, chosen, listener))
    simulated = []
    for name in [each.card.name for each in measured if slowdowns.much(each)]:
        listener.say(f"{name}, why a fragmented heap slows it")
        heaps = _Heaps(plan.mode, None, simulated=f"{slowdowns.CLEAN},{slowdowns.ADVERSE}")
        simulated.append(_measure(place / f"{name}-misses", name, heaps, allocators, listener, own=True))
    by_name = {each.card.name: result for each, result in judging.results(simulated)}
    conclusions = claims.judge(measured, occupancy)
    return Study(
        plan=plan,
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        measured=measured,
        occupancy=occupancy,
        simulated=simulated,
        slowdowns=slowdowns.of_regions(measured, by_name),
        answers=answers(conclusions),
        conclusions=conclusions,
    )


def _can_sweep(name: str, mode: Mode) -> bool:
    """Simulated caches take fifty times as long: quickly only where there can be less to do."""
    return mode == "full" or bool(card.load(name).scale)


@dataclass(frozen=True)
class _Heaps:
    """On which heaps a workload runs, and how long."""

    mode: Mode
    seconds: float | None
    simulated: str = ""
    """Levels whose misses in simulated caches are asked for, too; empty for none."""

    @property
    def levels(self) -> list[Level]:
        if self.simulated:
            return level.parse(self.simulated)
        return [LEVELS["adv0"], LEVELS["adv3"]] if self.mode == "quick" else list(LEVELS.values())

    @property
    def caches(self) -> str:
        return CACHES if self.simulated else ""

    @property
    def controls(self) -> bool:
        return self.mode == "full" and not self.simulated


def _measure(
    place: Path,
    name: str,
    heaps: _Heaps,
    allocators: list[Allocator],
    listener: Listener,
    *,
    own: bool = False,
) -> Measured:
    """One experiment; in simulated caches of one variant alone, with its `own` allocator or without."""
    described = card.load(name)
    scale = measuring.scale_of(described, heaps.mode, SIMULATED_PART if heaps.simulated else 1)
    asked = Asked(
        levels=heaps.levels,
        layouts=2 if heaps.controls else 0,
        controls=heaps.controls,
        caches=heaps.caches,
    )
    variant = next(iter(described.variants)) if own else measuring.without_own(described)
    alone = variant if heaps.simulated else ""

    def make() -> Spec:
        return spec_of(described, scale, allocators, asked, seconds=heaps.seconds, alone=alone)

    return measuring.measure(place, described, scale, make, listener)
