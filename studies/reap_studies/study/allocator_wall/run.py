"""Tests each claim of the "allocator wall" article on this machine.

Its programs are ours: request-driver in C++ and json_requests.py in Python, which answer requests and say
what these took. Each part is a list of runs that are repeated in every round, allocator beside allocator.
"""

import importlib.machinery
import importlib.metadata
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Allocator, Launch, Listener, ReapError, machine, program
from reap_studies.study import measuring
from reap_studies.study.allocator_wall import asks, go, python, services
from reap_studies.study.allocator_wall.analyse import Figures
from reap_studies.study.allocator_wall.asks import Ask, Bench
from reap_studies.study.allocator_wall.judge import claims
from reap_studies.study.allocator_wall.records import ARTICLE, Wall
from reap_studies.study.allocator_wall.rounds import Bank, rounds
from reap_studies.study.allocator_wall.words import answers
from reap_studies.study.folder import make_plan
from reap_studies.study.records import Mode, Plan, Study
from reap_studies.workloads import card, modules, preparation
from reap_studies.workloads import run as workload

NAME = "allocator-wall"
WORKLOAD = "request-driver"
PARTS: dict[str, Callable[[Bench], list[Ask]]] = {
    "structure": asks.structure,
    "counts": python.counts,
    "go": go.asks,
    "memory": asks.memory,
    "knee": asks.knee,
    "threads": asks.threads,
    "latency": asks.closed,
    "services": services.asks,
    "python": python.cost,
}
"""By the names that --workloads takes: the quickest first."""
ALLOCATORS = ARTICLE
ROUNDS: dict[Mode, int] = {"quick": 7, "full": 12}
"""Of thirty rounds intervals would be 0.6 times as wide, and of seven 1.5 times."""
QUICK_SECONDS = 480.0
"""After so many no part of a quick study begins another round that is not needed."""


def plan(mode: Mode, workloads: list[str], allocators: list[str]) -> Plan:
    """A study of these parts; of all if none are named. Throws ReapError for one that there is not."""
    return make_plan(NAME, list(PARTS), mode, workloads, allocators)


def run(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Study:
    """Runs what is left of the study and judges it.

    Throws InterruptedRunError on Ctrl-C, after which it can go on, and ReapError where its program cannot be
    built. What else goes wrong with a run leaves that run out.
    """
    bench = _bench(place, plan, allocators, listener)
    count = ROUNDS[plan.mode]
    bank = Bank(place)
    try:
        begun = time.monotonic()
        for number, part in enumerate(plan.workloads, 1):
            listener.say(f"{part} ({number} of {len(plan.workloads)})")
            # A part may have as much of the time as those after it leave to it.
            share = QUICK_SECONDS * number / len(plan.workloads)
            until = begun + share if plan.mode == "quick" else float("inf")
            rounds(bank, PARTS[part](bench), count, until, part, listener)
            if part == "latency":
                capacity = Figures(bank.samples).median("latency", DEFAULT, "closed", "rate")
                if capacity is not None:
                    rounds(bank, asks.opened(bench, capacity), count, until, "open loop", listener)
    finally:
        bank.close()
    wall = Wall(
        samples=bank.samples,
        rounds=count,
        cores=bench.cores,
        nodes=machine.nodes(),
        python=platform.python_version(),
        parsers={name: _version(name, bench.script) for name in bench.parsers},
    )
    return Study(
        plan=plan,
        **measuring.circumstances(),
        measured=[],
        conclusions=claims.judge(wall, allocators),
        answers=answers(claims.judging(wall, allocators)),
        wall=wall,
    )


def _bench(place: Path, plan: Plan, allocators: list[Allocator], listener: Listener) -> Bench:
    ready = preparation.prepare(WORKLOAD, "naive")
    launch = workload.launch_of(ready)
    script = card.find(WORKLOAD) / "json_requests.py"
    found = program.resolve([sys.executable, str(script)])
    program.require_preloadable(found)
    built = None
    if "go" in plan.workloads:
        try:
            built = go.build(script.with_name("requests.go"), place / "requests-in-go")
        except ReapError as error:
            listener.say(f"without Go: {error.what}")
    python = modules.place(card.load(WORKLOAD), preparation.cache_folder())
    environment = {"PYTHONPATH": str(python)} if python and python.is_dir() else {}
    has_orjson = importlib.machinery.PathFinder.find_spec("orjson", [*environment.values(), *sys.path])
    return Bench(
        program=Launch(argv=launch.argv[:1], program=launch.program, directory=launch.directory),
        allocators=allocators,
        mode=plan.mode,
        cores=machine.describe().cores,
        script=Launch(argv=found.command, program=found.path, environment=environment),
        go=built,
        parsers=["json", *(["orjson"] if has_orjson else [])],
    )


def _version(parser: str, script: Launch) -> str:
    path = [*script.environment.values(), *sys.path]
    found = importlib.metadata.distributions(name=parser, path=path)
    return next((each.version for each in found), platform.python_version())
