"""*Reconsidering Custom Memory Allocation* (OOPSLA 2002) reproduced on our workloads.

Each workload is recorded once without its own allocator, run once in each arm under a tracer, for what it
asks the system for, and run in every variant over every allocator on a clean heap: an experiment in a folder
of its own below the study's. Figure 6 is one more; sections 4.3 and 7.5, and drag, are counted.
"""

import time
from pathlib import Path

import msgspec

from reap.api import LEVELS, Allocator, AskedFragment, Listener
from reap_studies.study import forecast, measuring, pacing
from reap_studies.study.folder import make_plan
from reap_studies.study.ismm2026 import calibration
from reap_studies.study.judging import controls
from reap_studies.study.judging.exclusions import Evidence
from reap_studies.study.measuring import Work
from reap_studies.study.oopsla2002 import judge as claims
from reap_studies.study.oopsla2002 import memory, statistics
from reap_studies.study.oopsla2002.apache import run as apache
from reap_studies.study.oopsla2002.drag import judge as drag_claims
from reap_studies.study.oopsla2002.drag import run as dragging
from reap_studies.study.oopsla2002.published import ORIGINALS
from reap_studies.study.oopsla2002.regions import buffers, peers
from reap_studies.study.records import Drag, Memory, Mode, Plan, Statistics, Study
from reap_studies.workloads import card
from reap_studies.workloads.records import Card

NAME = "oopsla2002"
CUSTOM = (
    "chart-parser", "link-grammar", "bouncing-balls", "flow-optimizer", "fpga-placer",
    "expression-compiler", "m4", "request-server", "lcc", "region-compiler", "mudlle", "apache",
    "geometry-pass", "mesh-sculptor", "cpython", "gawk", "sqlite-lookaside", "subversion", "rapidjson",
    "boost-json", "protobuf", "php", "tshark", "nim",
)  # fmt: skip
"""The paper's, or those that stand for them, in its order; and Debian's."""
ORDINARY = ("espresso", "gzip", "stockfish", "perl", "gap", "lua", "sqlite", "bc", "sed", "graywolf")
"""General-purpose allocation, for Table 3."""
COUNTED = (buffers.WORKLOAD, apache.WORKLOAD)
"""Of sections 4.3 and 7.5: run for what they say of themselves."""
WORKLOADS = (*CUSTOM, *ORDINARY, *COUNTED)
ALLOCATORS: tuple[str, ...] = ("glibc", "dlmalloc", "win32-like", "reap", "jemalloc", "mimalloc")
"""glibc, whose malloc is a descendant of Lea's; Lea's own; what stands for Windows XP's; this library's; two
of today's."""

RECORDED_SECONDS = 1.0
"""About how long a run is that is recorded: long enough to be sampled."""

DRAG_SECONDS = 150.0
"""How long runs for drag may take together in a quick study; none is begun later."""


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    return make_plan(NAME, WORKLOADS, mode, workloads, allocators, more=card.own_names())


def run(
    place: Path,
    plan: Plan,
    allocators: list[Allocator],
    listener: Listener,
    elsewhere: pacing.Place | None = None,
) -> Study:
    """Runs what is left of the study and judges it; `elsewhere` runs rounds of experiments.

    Throws InterruptedRunError on Ctrl-C, after which it can go on; whatever else goes wrong with a workload
    leaves that workload out.
    """
    programs = [name for name in plan.workloads if name not in COUNTED]
    own = [name for name in programs if name not in WORKLOADS and "custom" in card.load(name).variants]
    custom = [name for name in programs if name in (*CUSTOM, *own)]
    works = [_work(place / name, name, plan.mode, allocators) for name in custom]
    works += [peers.work(place, name, plan.mode) for name in peers.WORKLOADS if name in plan.workloads]
    if plan.mode == "full":
        forecast.say(works, listener, elsewhere.cores if elsewhere else 1, plan.rounds)
    taken = [_statistics(place, name, plan.mode, listener) for name in programs]
    asked = [_memory(place, name, plan.mode, allocators, listener) for name in custom]
    begun = time.monotonic()
    drags = _drags(place, programs, plan.mode, listener)
    gone = min(time.monotonic() - begun, pacing.QUICK_SECONDS / 2)  # most of it is for times
    done = pacing.measure(works, plan.mode, listener, gone=gone, most=plan.rounds, elsewhere=elsewhere)
    measured, compared = done[: len(custom)], [peers.of(each) for each in done[len(custom) :]]
    grown = None
    if buffers.WORKLOAD in plan.workloads:
        listener.say(f"{buffers.WORKLOAD}, for section 4.3")
        grown = buffers.take(place / f"{buffers.WORKLOAD}.curves.json", plan.mode)
    pooled = None
    if apache.WORKLOAD in plan.workloads:
        listener.say(f"{apache.WORKLOAD}, for section 7.5")
        pooled = apache.take(place / f"{apache.WORKLOAD}.pools.json")
    study = Study(
        plan=plan,
        **measuring.circumstances(),
        measured=measured,
        conclusions=[],
        statistics=taken,
        memory=asked,
        drag=drags,
        peers=compared,
        buffers=grown,
        apache=pooled,
    )
    return judged(study)


def judged(study: Study) -> Study:
    """The study with how all conclusions of the paper stand by what was measured."""
    departures = calibration.departures(study.measured)
    evidence = Evidence(cards=_cards(study), originals=ORIGINALS, departing=departures)
    return msgspec.structs.replace(
        study,
        controls=controls.failures(study.measured),
        departures=departures,
        conclusions=[
            *buffers.judge(study.buffers),
            *claims.judge(study.measured, study.statistics, study.memory, evidence),
            *drag_claims.judge(study.drag, evidence),
            *peers.judge(study.peers, evidence),
            *apache.judge(study.apache),
        ],
    )


def _cards(study: Study) -> dict[str, Card]:
    cards = [each.card for each in study.measured] + [each.measured.card for each in study.peers]
    for counted in (study.statistics, study.memory, study.drag):
        cards += [each.card for each in counted]
    return {each.name: each for each in cards}


def _statistics(place: Path, name: str, mode: Mode, listener: Listener) -> Statistics:
    listener.say(f"recording {name}")
    described = card.load(name)
    scale = measuring.scale_of(described, mode, RECORDED_SECONDS)
    return statistics.take(place / f"{name}.statistics.json", described, scale)


def _memory(place: Path, name: str, mode: Mode, allocators: list[Allocator], listener: Listener) -> Memory:
    listener.say(f"what {name} asks the system for")
    described = card.load(name)
    scale = measuring.scale_of(described, mode)
    return memory.take(place / f"{name}.memory.json", described, scale, allocators)


def _drags(place: Path, names: list[str], mode: Mode, listener: Listener) -> list[Drag]:
    taken: list[Drag] = []
    begun = time.monotonic()
    for name in names:
        listener.say(f"what {name} holds and needs no more")
        late = mode == "quick" and time.monotonic() - begun > DRAG_SECONDS
        file = place / f"{name}.drag.json"
        taken.append(dragging.take(file, card.load(name), mode, listener.say, late=late))
    return taken


def _work(place: Path, name: str, mode: Mode, allocators: list[Allocator]) -> Work:
    heaps = AskedFragment(
        levels=[LEVELS["adv0"]],
        clean=True,
        layouts=0,
        controls=False,
        replaced_over=(allocators[0].name,),
    )
    return Work(place=place, described=card.load(name), mode=mode, allocators=allocators, fragment=heaps)
