"""Rounds that an experiment has and has time for, from the durations of its runs. Runs nothing."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median

import msgspec

from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.experiment import sequential, statistics
from reap.experiment.folder import Folder
from reap.experiment.records import Cell, Run
from reap.experiment.spec import Spec
from reap.launch import wrappers
from reap.server.plan import Costs, Plan, decides, deviation, narrowest
from reap.server.records import LOADS

LEAST_ROUNDS = 5
"""With fewer, Student's t makes the interval wide."""
MOST_ROUNDS = 30
"""More than this hardly narrows an interval."""
SIMULATED = 50.0
"""How long a run in simulated caches takes, in usual runs, as far as one can say before it."""
USUAL_SECONDS = 60.0
"""What the measured rounds take together when no one says otherwise, if LEAST_ROUNDS allow."""
USUAL_SERVED = 120.0
"""The same of servers under load."""
_LONGEST = 86400
"""Seconds: no budget above that is recommended."""
_LONGER = 1.2
"""Times as long as its estimate a round may take."""


class SmallBudgetError(ReapError):
    """A budget in which no server can be decided; `needed` seconds likely would do."""

    def __init__(self, what: str, hint: str, needed: int) -> None:
        super().__init__(what, hint, ExitCode.USAGE)
        self.needed = needed


@dataclass(frozen=True)
class Cost:
    """Estimated durations of a round and of the later runs, in seconds, from the runs so far."""

    a_round: float
    later: float
    """Of all that is run once, after the rounds."""


@dataclass(frozen=True)
class More:
    """Runs after the rounds, one or some of every arm that is littered as the user asked."""

    what: str
    cells: list[Cell]
    times: float = 1
    """How long one of them is, in usual runs of its arm."""

    def words(self) -> str:
        """Name of the runs, with their relative duration where they take longer than usual ones."""
        return (
            f"{self.what}, each some {self.times:g} times as long as usual" if self.times > 1 else self.what
        )


class Budget:
    """Time that the runs of an experiment take. Each call asks the folder which runs have ended."""

    def __init__(self, folder: Folder, baseline: str, dropped: Mapping[str, str], rounds: int = 0) -> None:
        """`baseline` and the keys of `dropped` are arms, by `Cell.arm()`; `rounds` as of `Runner`."""
        self._folder = folder
        self._baseline = baseline
        self._dropped = dropped
        self._asked = rounds
        self.needed = 0.0
        """Seconds that two rounds take with the warm-ups, once a note said that there is no time for them."""

    @property
    def _spec(self) -> Spec:
        return self._folder.spec

    def plan(self, more: Sequence[More]) -> tuple[int, float]:
        """Returns the number of rounds, and the seconds that they take.

        Both follow from the warm-ups and, once run, the first round, so they are the same after a resume.
        Where another process had the cores, the warm-ups alone say too little or too much.
        """
        a_round = self.a_round()
        if self._spec.runs:
            rounds = max(self._spec.runs, self._asked)
            return rounds, rounds * a_round
        if self._spec.budget is None:
            usual = USUAL_SERVED if self._spec.server else USUAL_SECONDS
            rounds = min(self._most, max(LEAST_ROUNDS, int(usual / a_round)))
        else:
            first = self._first_round()
            spent = sum(run.seconds for run in [*self._warm_ups(), *first])
            left = self._within(self._spec.budget) - spent
            begun = 1 if first else 0
            # What comes after the rounds takes no time from the fewest that say something.
            least = min(LEAST_ROUNDS - begun, int(left / a_round))
            rounds = min(self._most, begun + max(0, least, int((left - self.later(more)) / a_round)))
        return rounds, rounds * a_round

    @property
    def _most(self) -> int:
        return sequential.MAX_ROUNDS if self._spec.sequential else MOST_ROUNDS

    def a_round(self) -> float:
        """Seconds that a round will probably take: as the first, or as the warm-ups, the baseline's twice."""
        if (server := self._spec.server) is not None:
            costs = self._costs()
            return max(1e-4, costs.start + server.each_start * costs.load)
        return max(1e-4, sum(run.seconds for run in self._first_round() or self._warmed_up()))

    def plan_loads(self, *, at_once: bool) -> None:
        """Plans how often each start of a server is loaded, by the warm-ups or the first round, and keeps it.

        `at_once` is whether the servers of a round run at the same time. Throws ReapError where no plan
        within the budget decides a change that matters, however well they overlap; unless the experiment only
        explains another one, or servers run one after another, of which no more is known than a usual spread.
        """
        spec = self._spec
        if spec.server is None or not spec.sequential or not self._is_about_time():
            return
        costs = self._costs(at_once=at_once)
        seconds = USUAL_SERVED
        if spec.budget is not None:
            spent = sum(run.seconds for run in [*self._warm_ups(), *self._first_round()])
            seconds = self._within(spec.budget) - spent
            # The warm-ups were made one after another. Servers that run at once wait at the same time, and
            # have more of a busy machine's cores: a round takes as long as one of them at least.
            part = 1 / len(self._warmed_up())
            least = costs._replace(start=costs.start * part, load=costs.load * part)
            begins = at_once and not spec.explains and not self._first_round()
            if begins and not decides(self._narrowest(least, seconds), spec.worth):
                raise self._undecidable(costs)
        found = self._narrowest(costs, seconds)
        planned = found.loads if found else LOADS
        self._folder.plan(msgspec.structs.replace(spec.server, planned=planned, cold=self._cold()))

    def _cold(self) -> int:
        return statistics.cold([_cpu_seconds(run) for run in self._first_round()])

    def _narrowest(self, costs: Costs, seconds: float) -> Plan | None:
        return narrowest(
            costs,
            seconds,
            most_starts=sequential.MAX_ROUNDS,
            widening=sequential.widening,
            loads=self._spec.server.loads if self._spec.server else 0,
        )

    def _is_about_time(self) -> bool:
        """Whether CPU time decides, and not memory or the latency of requests at a fixed rate."""
        loads = [load for run in self._warm_ups() for load in run.outcome.loads]
        return self._spec.objective == "time" and not any(load.latency for load in loads)

    def _costs(self, *, at_once: bool = True) -> Costs:
        """Of a round of servers, by the first one, or by the warm-ups, which have one measured load."""
        runs = self._first_round() or self._warmed_up()
        cold = self._cold()
        loads = [_cpu_seconds(run)[cold:] for run in runs]
        times = [run.outcome.loading_ns / 1e9 / max(1, len(run.outcome.loads)) for run in runs]
        loading = max(times) if runs[0].together else sum(times)
        cpu = median(each for run in loads for each in run) if any(loads) else 0.0
        seen = statistics.spread_of_loads(loads)
        return Costs(
            start=max(0.0, sum(run.seconds for run in runs) - max(map(len, loads)) * loading),
            load=loading,
            cpu=cpu,
            deviation=seen or deviation(cpu, at_once=at_once),
        )

    def _warmed_up(self) -> list[Run]:
        """The warm-up of each arm that a round has, and the baseline's twice."""
        each = {run.cell.arm(): run for run in self._warm_ups()}
        return [*(run for arm, run in each.items() if arm not in self._dropped), each[self._baseline]]

    def _undecidable(self, costs: Costs) -> ReapError:
        """Error for a budget in which a server cannot be decided, with one that would do."""
        spec, seconds = self._spec, 1.0
        while not decides(found := self._narrowest(costs, seconds), spec.worth) and seconds < _LONGEST:
            seconds *= 1.05
        name = wrappers.name(spec.program.command)
        what = (
            f"--budget {spec.budget:g} is too small to decide whether CPU time changes by "
            f"{units.percent(spec.worth)}: a round takes {units.duration(costs.start)} to start the servers "
            f"and warm them up, and {units.duration(costs.load)} for a load of each, which takes "
            f"{units.duration(costs.cpu)} of CPU time of {name}"
        )
        if not decides(found, spec.worth) or found is None:
            return ReapError(
                what, "give --load more requests, or look for larger changes (--worth)", ExitCode.USAGE
            )
        spent = sum(run.seconds for run in self._folder.runs)
        needed = math.ceil((spent + _LONGER * found.seconds) / self._within(1))
        hint = (
            f"{found.starts} starts with {units.number(found.loads, 'load')} each would likely do: "
            f"{self._folder.resume_command} --budget {needed}; or compare fewer at once, or look for larger "
            "changes only (--worth)"
        )
        return SmallBudgetError(what, hint, needed)

    def _warm_ups(self) -> list[Run]:
        return [run for run in self._folder.runs if run.warmup]

    def _first_round(self) -> list[Run]:
        """The runs of the first round that count; empty until all have ended."""
        arms = {run.cell.arm() for run in self._warm_ups()} - set(self._dropped)
        runs = [run for run in self._folder.runs if not run.warmup and _is_of_round(run.cell, 0)]
        kept = [run for run in runs if run.cell.arm() in arms]
        return kept if len(kept) == len(arms) + 1 else []

    def allows_round(self, number: int) -> bool:
        """Whether there is time for another round. One that was begun before a kill is always finished."""
        budget = self._spec.budget
        if budget is None or any(not run.warmup and run.cell.repeat == number for run in self._folder.runs):
            return True
        spent = sum(run.seconds for run in self._folder.runs)
        return spent + self.a_round() <= self._within(budget)

    def too_small(self, rounds: int) -> str:
        """Note on the rounds that the budget allows; below two there is no interval, and so no answer.

        A first round that only warmed servers up is none.
        """
        rounds = max(0, rounds - (self._spec.server.left_out if self._spec.server else 0))
        allows = f"the budget of {self._spec.budget:g} s allows {units.number(rounds, 'round')}"
        reserved = self._spec.reserved
        kept = f" ({units.percent(reserved)} of it is kept for later trials)" if reserved else ""
        if rounds >= statistics.LEAST_ROUNDS:
            return f"{allows}; {LEAST_ROUNDS} would say more{kept}"
        self.needed = self._needs(statistics.LEAST_ROUNDS)
        more = self._needs(LEAST_ROUNDS)
        return (
            f"{allows}, and an interval needs at least two: give --budget {self.needed:.0f} for two, "
            f"{more:.0f} for {LEAST_ROUNDS}{kept}"
        )

    def _needs(self, rounds: int) -> float:
        """The budget, in whole seconds, for the warm-ups and so many rounds, each up to a fifth longer."""
        warm_ups = sum(run.seconds for run in self._warm_ups())
        return math.ceil((warm_ups + rounds * _LONGER * self.a_round()) / self._within(1))

    def allows(self, cell: Cell, times: float) -> bool:
        """Whether there is time for a run of the cell that takes so many times as long as usual."""
        if self._spec.budget is None:
            return True
        spent = sum(run.seconds for run in self._folder.runs)
        return spent + times * self._usual(cell) <= self._within(self._spec.budget)

    def later(self, more: Sequence[More]) -> float:
        """Seconds that all runs after the rounds will probably take."""
        return sum(
            each.times * self._usual(cell)
            for each in more
            for cell in each.cells
            if cell.arm() not in self._dropped
        )

    def _within(self, budget: float) -> float:
        """The part of a budget that this experiment may take."""
        return budget * (1 - self._spec.reserved)

    def _usual(self, cell: Cell) -> float:
        """Seconds that the warm-up of the cell's arm took."""
        return next(run.seconds for run in self._warm_ups() if run.cell.arm() == cell.arm())


def announcement(spec: Spec, arms: int, more: Sequence[More]) -> str:
    """Sentence on how often the program runs with `arms` arms, and what the runs are."""
    warm_ups = spec.warm_ups
    others = warm_ups * arms + sum(len(each.cells) for each in more)
    most = sequential.MAX_ROUNDS if spec.sequential else MOST_ROUNDS
    many = f"{LEAST_ROUNDS * (arms + 1) + others} to {most * (arms + 1) + others} times"
    if spec.runs:
        many = f"{spec.runs * (arms + 1) + others} times"
    elif spec.budget is not None:
        within = spec.budget * (1 - spec.reserved)
        many = f"as often as {round(within, 2 if within < 10 else None):g} s allow"
    first = "a warm-up" if warm_ups == 1 else f"{warm_ups} warm-ups"
    watched = spec.pairing == "auto" and spec.server is None
    return (
        f"{wrappers.name(spec.program.command)} runs {many}: {first} {_each(spec, arms)}, "
        f"then rounds of {arms + 1} runs (the baseline twice)"
        + (", and once or twice under strace" if watched else "")
        + "".join(f", then {len(each.cells)} {each.words()}" for each in more)
    )


def _each(spec: Spec, arms: int) -> str:
    """Of what a warm-up is."""
    if spec.fragment is not None:
        controls = " and controls" if spec.fragment.controls else ""
        return f"of each of {units.number(arms, 'combination')}{controls}"
    if spec.against:
        return f"of each of {units.number(arms, 'command')}"
    return f"under each of {units.number(arms, 'allocator')}"


def _cpu_seconds(run: Run) -> list[float]:
    """CPU time of each measured load of a start."""
    return [load.cpu_ns / 1e9 for load in run.outcome.loads]


def _is_of_round(cell: Cell, number: int) -> bool:
    return cell.repeat == number and not (cell.sampled or cell.simulated or cell.counted)
