"""*Reconsidering Custom Memory Allocation* (OOPSLA 2002) made again on our workloads.

Each workload is recorded once without its own allocator, run once in each arm under a tracer, for what it
asks the system for, and run in every variant over every allocator on a clean heap: an experiment in a folder
of its own below the study's. Figure 6 is one more, and section 4.3 is counted. Drag (Table 4, Figure 7) is no
part of it.
"""

from datetime import UTC, datetime
from pathlib import Path

from reap import __version__
from reap.allocators.records import Allocator
from reap.experiment import card
from reap.experiment.runner import Listener
from reap.experiment.spec import Fragmented as Asked
from reap.experiment.spec import Spec
from reap.launch import machine
from reap.launch.level import LEVELS
from reap.study import measuring, memory, statistics
from reap.study import oopsla2002_buffers as buffers
from reap.study import oopsla2002_claims as claims
from reap.study import oopsla2002_peers as peers
from reap.study.folder import make_plan
from reap.study.records import Measured, Mode, Plan, Study

NAME = "oopsla2002"
CUSTOM = (
    "chart-parser", "bouncing-balls", "flow-optimizer", "fpga-placer", "expression-compiler",
    "request-server", "region-compiler", "geometry-pass", "mesh-sculptor", "cpython", "gawk",
    "sqlite-lookaside", "subversion", "rapidjson", "boost-json", "protobuf", "php", "tshark", "nim",
)  # fmt: skip
"""Those that stand for the paper's, in its order, and Debian's."""
ORDINARY = ("gzip", "stockfish", "perl", "lua", "sqlite", "bc", "sed")
"""General-purpose allocation, for Table 3."""
WORKLOADS = (*CUSTOM, *ORDINARY, buffers.WORKLOAD)
ALLOCATORS: tuple[str, ...] = ("glibc", "dlmalloc", "win32-like", "reap", "jemalloc", "mimalloc")
"""glibc, whose malloc is a descendant of Lea's; Lea's own; what stands for Windows XP's; this library's; two
of today's."""

_HEAPS = Asked(levels=[LEVELS["adv0"]], clean=True, layouts=0, controls=False)


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    return make_plan(NAME, WORKLOADS, mode, workloads, allocators)


def run(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
    """Runs what is left of the study and judges it.

    Throws InterruptedRunError on Ctrl-C, after which it can go on; whatever else goes wrong with a workload
    leaves that workload out.
    """
    custom = [name for name in plan.workloads if name in CUSTOM]
    seconds = measuring.QUICK_SECONDS / max(len(custom), 1) if plan.mode == "quick" else None
    taken, measured, asked = [], [], []
    programs = [name for name in plan.workloads if name != buffers.WORKLOAD]
    for number, name in enumerate(programs, 1):
        listener.say(f"{name} ({number} of {len(programs)})")
        described = card.load(name)
        scale = measuring.scale_of(described, plan.mode)
        taken.append(statistics.take(place / f"{name}.statistics.json", described, scale))
        if name in CUSTOM:
            asked.append(memory.take(place / f"{name}.memory.json", described, scale, allocators))
            measured.append(_measure(place / name, described, scale, allocators, seconds, listener))
    compared, grown = None, None
    if peers.WORKLOAD in plan.workloads:
        listener.say(f"{peers.WORKLOAD} with the allocators of others, for Figure 6")
        compared = peers.measure(place / f"{peers.WORKLOAD}-peers", plan.mode, listener)
    if buffers.WORKLOAD in plan.workloads:
        listener.say(f"{buffers.WORKLOAD}, for section 4.3")
        grown = buffers.take(place / f"{buffers.WORKLOAD}.curves.json", plan.mode)
    return Study(
        plan=plan,
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        measured=measured,
        conclusions=[*buffers.judge(grown), *claims.judge(measured, taken, asked), *peers.judge(compared)],
        statistics=taken,
        memory=asked,
        peers=compared,
        buffers=grown,
    )


def _measure(
    place: Path,
    described: card.Card,
    scale: int,
    allocators: list[Allocator],
    seconds: float | None,
    listener: Listener,
) -> Measured:
    def make() -> Spec:
        return measuring.spec_of(described, scale, allocators, _HEAPS, seconds=seconds)

    return measuring.measure(place, described, scale, make, listener)
