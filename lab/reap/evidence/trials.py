"""Trials: arms of paired comparisons that prove or refute what the evidence makes one suspect.

The first comparison has the fastest allocators and the preloads that price allocation, always. The second has
what tells causes apart: settings, and the preloads that take one cause away each. Both are experiments with a
folder of their own, so that a killed trial resumes.
"""

import math
import os
from collections.abc import Mapping, Sequence

import msgspec

from reap.allocators import catalog, settings
from reap.allocators.records import Allocator
from reap.base.records import Record
from reap.compare import analyse, judge
from reap.compare.judge import Standing
from reap.evidence.analyse.reach import FEWEST_CALLED, untriable
from reap.evidence.analyse.suspicions.records import NO_TIME, Remedy, Suspicion
from reap.evidence.analyse.suspicions.thresholds import WORTH_TRYING
from reap.evidence.records import Wall
from reap.experiment import statistics
from reap.experiment.budget import LEAST_ROUNDS
from reap.experiment.records import Comparison
from reap.experiment.spec import Spec, state_of
from reap.launch import collectors, native_files, price
from reap.launch.program import Program

MOST = 6
"""Arms of the second comparison, at most."""

MOST_BUMPED = 1 << 30
"""Bytes allocated in all, up to which a malloc is tried that never reuses memory: a run touches as many."""

FEWEST = 2
"""Arms of the first comparison, whatever a budget allows: the likeliest to be fastest, and the price."""

BUDGET = 30.0
"""Seconds for the second comparison, where no one says otherwise."""

PATIENCE = 1800.0
"""Seconds for the first comparison, where no one says otherwise: it is not begun where it takes longer."""

RESERVED = 0.4
"""The part of a budget for both comparisons that the first leaves to the second."""

TOO_MANY = f"no more than {MOST} arms are tried at once, and others weigh more"
"""Why an arm was not tried, beside NO_TIME ..."""

NOT_PRELOADED = (
    "it takes a cost of glibc's malloc away, which does not serve this program or cannot be replaced"
)
"""... or this, of a preload made for a price ..."""

ONE_THREAD = "one thread waits for no other"
"""... or this, of an arena for each thread."""

_ORDER = ("", "mimalloc", "price: recycle", "jemalloc", "tcmalloc", "price: bump")
"""In which arms are tried after the baseline; the empty name stands for any other."""


class Plan(Record):
    """Arms to be tried to tell causes apart."""

    allocators: list[Allocator] = []
    """An arm each, called as its remedy or its preload."""
    resident: bool = False
    """Whether memory over time is compared, too: some arm is judged by it."""
    missing: dict[str, str] = {}
    """Why an arm cannot be tried, a clause, by its name."""


def first(allocators: Sequence[Allocator], program: Program) -> list[Allocator]:
    """The arms of the first comparison: these allocators, and the price where it can be preloaded.

    The first of them stays the first: it is the baseline.
    """
    if not program.takes_allocators:
        return list(allocators)
    # The likeliest to be fastest first: a budget that ends early leaves out the last.
    arms = [*allocators[1:], _price(price.FIRST)]
    rank = {name: number for number, name in enumerate(_ORDER)}
    return [*allocators[:1], *sorted(arms, key=lambda arm: rank.get(arm.name, rank[""]))]


def affordable(arms: Sequence[Allocator], seconds: float, budget: float | None) -> list[Allocator]:
    """As many of the arms as have the fewest rounds in the budget, where the program takes so many seconds.

    Without a budget all.
    """
    if budget is None or not 0 < seconds < math.inf:
        return list(arms)
    most = max((n for n in range(1, len(arms) + 1) if runs_of(n) * seconds <= budget), default=0)
    return list(arms[:most])


def within(arms: Sequence[Allocator], seconds: float, budget: float) -> tuple[list[Allocator], float]:
    """The arms of the first comparison that a budget is for, and the part of it that is reserved.

    Nothing is, where not all arms have the fewest rounds in the rest: what a change to allocation gives comes
    before why. The likeliest to be fastest and the price are there in any case.
    """
    if len(affordable(arms, seconds, (1 - RESERVED) * budget)) == len(arms):
        return list(arms), RESERVED
    return list(arms[: max(FEWEST, len(affordable(arms, seconds, budget)))]), 0.0


def too_long(arms: int, seconds: float, budget: float | None) -> float:
    """Seconds that all trials take of a program that takes so many, where that is more than there are.

    Else 0. A `budget` has to allow two rounds with the fewest arms; without one they take PATIENCE at most.
    """
    if not 0 < seconds < math.inf:
        return 0.0
    first = runs_of(arms) * seconds
    least = (FEWEST + 1 + statistics.LEAST_ROUNDS * (FEWEST + 2)) * seconds
    fits = first <= PATIENCE if budget is None else least <= budget
    return 0.0 if fits else first / (1 - RESERVED)


def second(
    suspicions: Sequence[Suspicion],
    comparison: Comparison | None,
    program: Program,
    *,
    base: Allocator,
    wall: Wall,
    environment: Mapping[str, str] | None = None,
    budget: float = BUDGET,
) -> Plan:
    """Plan of what tells causes apart, heaviest suspicions first; empty where there is nothing to explain.

    Where the first comparison shows that nothing gains, what weighs less than is worth a trial is not tried.
    `environment` is what the program would be started with; settings are merged into it. `base` is the
    allocator that it is compared under. No more arms are tried than have enough rounds in the `budget`,
    of a program that takes as long as in `wall`.
    """
    held = os.environ if environment is None else environment
    arms: dict[str, Allocator] = {}
    missing: dict[str, str] = {}
    of_memory: set[str] = set()
    gained = comparison is not None and _gains(comparison)
    tried = [each for each in suspicions if gained or each.weight >= WORTH_TRYING]
    for remedy in (each for suspicion in tried for each in suspicion.remedies):
        if remedy.can_be_tried and remedy.name not in arms:
            found = _arm(remedy, base, held, program)
            if isinstance(found, str):
                missing[remedy.name] = found
            else:
                arms[remedy.name] = found
                of_memory |= {remedy.name} if remedy.metric == "resident" else set()
    known = {name.removeprefix(price.PREFIX) for each in tried for name in each.probes}
    wanted = [name for name in price.CAUSES if (gained and name != "arenas") or name in known]
    if not _may_price(program, base, wall) or program.stands_aside:
        missing |= {f"{price.PREFIX}{name}": NOT_PRELOADED for name in wanted}
        wanted = []
    if wall.threads <= 1 and "arenas" in wanted:
        missing[f"{price.PREFIX}arenas"] = ONE_THREAD
        wanted.remove("arenas")
    if _may_price(program, base, wall) and _may_bump(wall):
        wanted.append(price.BUMP)
    # What likeliest helps comes first, then what tells its cause from others: not all may fit.
    likeliest = [arms.pop(name) for name in list(arms)[:1]]
    every = [*likeliest, *(_price(name) for name in wanted), *arms.values()]
    paid = affordable(every, wall.wall_seconds, budget)
    kept = paid[:MOST]
    missing |= {each.name: TOO_MANY if each in paid else NO_TIME for each in every if each not in kept}
    return Plan(allocators=kept, resident=any(each.name in of_memory for each in kept), missing=missing)


def spec_of(plan: Plan, first: Spec, budget: float, program: Program) -> Spec:
    """The experiment of a plan on a program: as the first comparison, with other arms.

    A number of rounds stays.
    """
    base = first.allocators[0]
    libraries = {each.library for each in plan.allocators if each.library}
    known = {each.path for each in first.files}
    return msgspec.structs.replace(
        first,
        program=program,
        allocators=[base, *plan.allocators],
        files=[*first.files, *(state_of(path) for path in sorted(libraries - known))],
        budget=None if first.runs and first.budget is None else budget,
        reserved=0.0,
        pairing="sequential" if plan.resident else first.pairing,
        resident=plan.resident or first.resident,
        all_rounds=plan.resident,
        explains=True,
        witness="",
    )


def as_seen(program: Program, wall: Wall) -> Program:
    """The program with what its runs showed: into one that does not bear a preload, none is loaded."""
    return msgspec.structs.replace(program, obstacle=wall.irreplaceable) if wall.refused else program


def runs_of(arms: int) -> int:
    """Number of runs to try `arms` arms: warm-ups, and the fewest rounds that say something."""
    return (arms + 1) + LEAST_ROUNDS * (arms + 2)


def _gains(comparison: Comparison) -> bool:
    """Whether anything gains, or may: then it is worth knowing why."""
    standings = (judge.standing(side, comparison) for side in comparison.sides if analyse.trusted(side))
    return any(each in {Standing.GAIN, Standing.INCONCLUSIVE} for each in standings)


def _may_price(program: Program, base: Allocator, wall: Wall) -> bool:
    return program.takes_allocators and not (base.library or untriable(wall))


def _may_bump(wall: Wall) -> bool:
    counted = wall.counted
    return (
        counted is not None
        and counted.bytes <= MOST_BUMPED
        and counted.allocations >= FEWEST_CALLED * wall.cpu_seconds
    )


def _price(name: str) -> Allocator:
    return Allocator(name=f"{price.PREFIX}{name}", library=str(native_files.preload(f"price-{name}")))


def _arm(remedy: Remedy, base: Allocator, held: Mapping[str, str], program: Program) -> Allocator | str:
    """The remedy as an arm, or why it cannot be one."""
    if remedy.allocator and not program.takes_allocators:
        return "its own malloc cannot be replaced by a preload"
    found = catalog.find(remedy.allocator) if remedy.allocator else base
    if not isinstance(found, Allocator):
        return f"not installed: {found.install}"
    variables = settings.merged(remedy.environment, held)
    if remedy.hook == "cpython":
        variables |= collectors.python_hooked(held.get("PYTHONPATH", ""))
    return Allocator(name=remedy.name, library=found.library, environment=variables, notes=found.notes)
