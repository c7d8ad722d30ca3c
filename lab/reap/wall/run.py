"""Runs the trials of a command that was watched: allocators and the price, then what tells causes apart."""

from dataclasses import replace
from pathlib import Path

import msgspec

from reap.allocators.records import DEFAULT, Allocator
from reap.compare import experiments
from reap.compare import run as comparing
from reap.evidence import trials
from reap.evidence.analyse.reach import untriable
from reap.evidence.analyse.suspicions.records import NO_TIME
from reap.evidence.analyse.suspicions.suspect import to_try
from reap.evidence.explain import Explained, explain
from reap.evidence.records import Wall
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison
from reap.experiment.runner import Listener
from reap.experiment.specify import Conditions, specify
from reap.launch import program as programs
from reap.launch.program import Program


def run(
    command: list[str],
    wall: Wall,
    folder: Path,
    listener: Listener,
    *,
    base: Allocator | None,
    budget: float,
    timeout: float | None,
    stdin: Path,
) -> tuple[Comparison | None, Explained]:
    """Tries, in `folder`, what a program that is known by `wall` may be tried with, within `budget` seconds.

    It is compared under `base`, None for the C library's own. `stdin` is what it reads, if the file is there.
    The first comparison is None where no preload reaches what the program allocates, and nothing is tried
    where its time limit ended it, or the budget has no time for trials, which need whole runs. Throws
    ReapError.
    """
    if wall.unfinished:
        return None, Explained()
    found, own = trials.as_seen(programs.resolve(command), wall), base or Allocator(name=DEFAULT)

    def experiment(arms: list[Allocator], *, reserved: float = 0.0) -> Folder:
        spec = specify(
            command,
            arms,
            baseline=arms[0].name,
            conditions=Conditions(
                budget=budget, reserved=reserved, timeout=timeout, stdin=stdin.exists(), pairing="auto"
            ),
        )
        content = iter([stdin.read_bytes()]) if stdin.exists() else None
        return Folder.create(folder, msgspec.structs.replace(spec, program=found), content, force=True)

    if found.obstacle or untriable(wall):
        plan = _settings(found, wall, budget)
        if not plan.allocators:
            return None, Explained(missing=plan.missing)
        with experiment([Allocator(name=DEFAULT), *plan.allocators]) as runs:
            return None, Explained(comparing.compare(runs, listener), plan.missing)
    usual, missing = experiments.choose(None, alone=True, linked=found.stands_aside)
    if missing:
        listener.say(missing)
    others = [each for each in usual if each.name not in {own.name, DEFAULT}]
    arms = trials.first([own, *others], found)[1:]
    if takes := trials.too_long(len(arms), wall.wall_seconds, budget):
        return None, Explained(takes=takes)
    kept, reserved = trials.within(arms, wall.wall_seconds, budget)
    left = {each.name: NO_TIME for each in arms if each not in kept}
    with experiment([own, *kept], reserved=reserved) as runs:
        compared = comparing.compare(runs, listener)
        told = explain(runs, listener, to_try(wall), compared, wall)
    return compared, replace(told, missing={**left, **told.missing})


def _settings(program: Program, wall: Wall, budget: float) -> trials.Plan:
    """Plan to try variables on a program that no preload enters."""
    own = Allocator(name=DEFAULT)
    return trials.second(to_try(wall), None, program, base=own, wall=wall, budget=budget)
