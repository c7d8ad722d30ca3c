"""*Reconsidering "Reconsidering Custom Memory Allocation"* (ISMM 2026) reproduced on our workloads.

Each workload is an experiment on fragmented heaps in a folder of its own below the study's, so that a study
that was stopped goes on where it was. One that cannot run here is left out, with the reason.
"""

from pathlib import Path

import msgspec

from reap.api import LEVELS, Allocator, AskedFragment, Listener, level
from reap_studies.study import forecast, measuring, pacing
from reap_studies.study.folder import make_plan
from reap_studies.study.ismm2026 import calibration, slowdowns
from reap_studies.study.ismm2026 import judge as claims
from reap_studies.study.ismm2026.words import answers
from reap_studies.study.judging import controls, ratios
from reap_studies.study.measuring import ROUNDS, Work
from reap_studies.study.records import Measured, Mode, Plan, Study
from reap_studies.workloads import card
from reap_studies.workloads.records import Card

NAME = "ismm2026"
WORKLOADS = (
    "bouncing-balls", "flow-optimizer", "freelist", "artefact-freelist", "cpython", "gawk",
    "sqlite-lookaside", "mudlle", "expression-compiler", "m4", "fpga-placer", "geometry-pass",
    "request-server", "subversion", "rapidjson", "boost-json", "protobuf", "clang", "chart-parser",
    "link-grammar", "mesh-sculptor", "php", "tshark", "nim",
)  # fmt: skip
"""Per-class, regions, hybrids: the paper's order."""
WHERE_NAMED = ("lcc", "blender-nodes", "blender-sculpt", "tcl", "nginx", "erlang")
"""Run where `--workloads` names them: the paper had no input for lcc, and a quick study no time for more."""
ALLOCATORS: tuple[str, ...] = (
    *claims.PAPER, "mimalloc-v3", "jemalloc-5.3.1", "snmalloc", "tcmalloc", "google-tcmalloc",
)  # fmt: skip
"""The paper's, and today's peers where they are installed: these are in the figures, and among the best."""
OCCUPANCY = ("chart-parser", "clang")
"""What Figure 3 is of, over jemalloc, at multiplier 10: in a quick study the first alone, as simulated caches
take fifty times as long."""
OCCUPANCY_LEVELS = "10x0.2,10x0.5,10x0.8"
CACHES = "i7-8559u"
"""The smaller ones of the paper (section 5): what does not fit there is seen at a tenth of the work, too."""

SIMULATED_PART = 5
"""So much less again is done in each run of a quick study where caches are simulated."""


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these workloads; all of them if none are named. Throws ReapError for one that it has not."""
    return make_plan(NAME, WORKLOADS, mode, workloads, allocators, more=[*WHERE_NAMED, *card.own_names()])


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
    sweepable = OCCUPANCY if plan.mode == "full" else OCCUPANCY[:1]
    swept = [name for name in sweepable if name in plan.workloads]
    works = [_work(place / name, name, plan.mode, allocators) for name in plan.workloads]
    chosen = [each for each in allocators if each.name == "jemalloc"] or allocators[:1]
    works += [_swept(place / f"{name}-occupancy", name, plan.mode, chosen) for name in swept]
    if plan.mode == "full":
        forecast.say(works, listener, elsewhere.cores if elsewhere else 1, plan.rounds)
    done = pacing.measure(works, plan.mode, listener, most=plan.rounds, elsewhere=elsewhere)
    measured, occupancy = done[: len(plan.workloads)], done[len(plan.workloads) :]
    slowed = [
        _slowed(place / f"{each.card.name}-misses", each.card, plan.mode, allocators)
        for each in measured
        if slowdowns.much(each, plan.mode)
    ]
    simulated = _explained(slowed, plan.mode, listener, elsewhere)
    by_name = {each.card.name: result for each, result in ratios.results(simulated)}
    study = Study(
        plan=plan,
        **measuring.circumstances(),
        measured=measured,
        occupancy=occupancy,
        simulated=simulated,
        slowdowns=slowdowns.of_regions(measured, by_name),
        conclusions=[],
    )
    return judged(study)


def judged(study: Study) -> Study:
    """The study with how all conclusions of the paper stand by what was measured."""
    conclusions = claims.judge(study.measured, study.occupancy)
    return msgspec.structs.replace(
        study,
        controls=controls.failures(study.measured),
        departures=calibration.departures(study.measured),
        answers=answers(conclusions),
        conclusions=conclusions,
    )


def _explained(
    slowed: list[Work], mode: Mode, listener: Listener, elsewhere: pacing.Place | None
) -> list[Measured]:
    """Why a fragmented heap slows these."""
    if slowed:
        listener.say(f"why a fragmented heap slows {', '.join(each.described.name for each in slowed)}")
    if mode == "full":
        return pacing.measure(slowed, mode, listener, most=ROUNDS[mode], elsewhere=elsewhere)
    return [measuring.measure(each, ROUNDS[mode], listener) for each in slowed]


def _work(place: Path, name: str, mode: Mode, allocators: list[Allocator]) -> Work:
    full = mode == "full"
    heaps = AskedFragment(
        levels=list(LEVELS.values()) if full else [LEVELS["adv0"], LEVELS["adv3"]],
        layouts=2 if full else 0,
        controls=full,
        replaced_over=(allocators[0].name,),  # no conclusion rests on that variant
    )
    return Work(place=place, described=card.load(name), mode=mode, allocators=allocators, fragment=heaps)


def _swept(place: Path, name: str, mode: Mode, allocators: list[Allocator]) -> Work:
    """For Figure 3."""
    described = card.load(name)
    levels = level.parse(OCCUPANCY_LEVELS)
    return _simulated(place, described, mode, allocators, levels, measuring.without_own(described))


def _slowed(place: Path, described: Card, mode: Mode, allocators: list[Allocator]) -> Work:
    """A program with its own allocator, for what a fragmented heap did to it."""
    levels = [LEVELS[slowdowns.CLEAN], LEVELS[slowdowns.ADVERSE]]
    own = [each for each in allocators if each.name in claims.PAPER] or allocators
    return _simulated(place, described, mode, own, levels, next(iter(described.variants)))


def _simulated(
    place: Path,
    described: Card,
    mode: Mode,
    allocators: list[Allocator],
    levels: list[level.Level],
    variant: str,
) -> Work:
    """One variant, once each in simulated caches, too."""
    return Work(
        place=place,
        described=described,
        mode=mode,
        allocators=allocators,
        fragment=AskedFragment(levels=levels, layouts=0, controls=False, caches=CACHES),
        alone=variant,
        part=SIMULATED_PART,
    )
