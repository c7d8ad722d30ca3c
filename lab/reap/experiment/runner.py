"""Runs an experiment's cells, one after another, and keeps each as it ends."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

from reap.allocators import verify
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.experiment import arms, pairing, requests, schedule, statistics
from reap.experiment.folder import Folder
from reap.experiment.once import Once, failure
from reap.experiment.records import Cell, Pairing
from reap.experiment.spec import COUNTERS
from reap.experiment.starter import Starter
from reap.launch.records import Outcome
from reap.launch.tools import counters

LEAST_ROUNDS = 5
"""With fewer, Student's t makes the interval wide."""
MOST_ROUNDS = 30
"""More than this hardly narrows an interval."""
SIMULATED = 50.0
"""How long a run in simulated caches takes, in usual runs, as far as one can say before it."""
USUAL_SECONDS = 60.0
"""What the measured rounds take together when no one says otherwise, if LEAST_ROUNDS allow."""


class Listener:
    """Hears how an experiment goes. This one is silent; a terminal's overrides it."""

    def say(self, text: str) -> None:
        """Something that the user must know before it goes on."""

    def progress(self, done: int, total: int, label: str) -> None:
        """`done` of about `total` runs have ended, and `label` runs now (empty at the end)."""


@dataclass(frozen=True)
class Cost:
    """What an experiment probably takes, in seconds, as its warm-ups tell."""

    a_round: float
    later: float
    """Of all that is run once, after the rounds."""


class InterruptedRunError(ReapError):
    """The user stopped it; what was measured is kept."""


@contextmanager
def stoppable(folder: Folder) -> Iterator[None]:
    """Makes a Ctrl-C inside it an `InterruptedRunError`, which says how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        ended = len(folder.runs)
        kept = "run that ended is kept in" if ended == 1 else "runs that ended are kept in"
        raise InterruptedRunError(
            f"stopped; the {ended} {kept} {folder.path}",
            f"go on with: {folder.resume_command}",
            ExitCode.SIGNALLED + 2,
        ) from None


@dataclass(frozen=True)
class _More:
    """Runs after the rounds, one or some of every arm that is littered as the user asked."""

    what: str
    cells: list[Cell]
    times: float = 1
    """How long one of them is, in usual runs of its arm."""

    def words(self) -> str:
        """What they are, with how long they take where that is long."""
        return (
            f"{self.what}, each some {self.times:g} times as long as usual" if self.times > 1 else self.what
        )


class Runner:
    """One experiment in its folder. What was run before a kill is not run again."""

    def __init__(
        self, folder: Folder, listener: Listener, starter: Starter | None = None, rounds: int = 0
    ) -> None:
        """With `rounds`, an experiment of fewer gets so many. Those beyond its own are without controls."""
        self._folder = folder
        self._asked = rounds
        self._spec = folder.spec
        self._listener = listener
        self._once = Once(folder, starter)
        self._allocators = {allocator.name: allocator for allocator in self._spec.allocators}
        self._arms = arms.arms(self._spec)
        self._baseline = self._arms[0].arm()
        self.dropped: dict[str, str] = {}
        """By `Cell.arm()`: arms that are not run any more, and why, a sentence each."""
        self.notes: list[str] = folder.extension_notes()
        self.stopped_early = False
        self.pairing = Pairing()
        """How the rounds are paired; known when the warm-ups have ended."""
        self.needed_budget = 0.0
        """Seconds that two rounds take with the warm-ups, where the budget has no time for them; else 0."""

    def run(self) -> None:
        """Runs all that is left. Throws ReapError; `InterruptedRunError` on Ctrl-C."""
        with stoppable(self._folder):
            self._begin()
            self._rounds()
            for more in self._more:
                self._once_more(more)

    def cost(self) -> Cost:
        """Runs the warm-ups that are left, and no more. Throws what `run` throws."""
        with stoppable(self._folder):
            self._begin()
            return Cost(a_round=self._a_round(), later=self._later())

    def _begin(self) -> None:
        begun = len(self._once.done) >= len(self._arms)
        if not begun:
            self._announce()
        self._warm_up()
        if len(self.dropped) == len(self._arms) - 1:
            return
        if self._spec.pairing != "sequential":
            self.pairing = pairing.settle(
                self._folder,
                self._runs_a_round(),
                lambda: [self._once.alone(arm) for arm in arms.commands(self._arms)],
                self._listener.say,
            )
        if not begun:
            self._foretell()

    def _announce(self) -> None:
        """Before anything runs: a command that sends mail should not be run thirty times unawares."""
        count = len(self._arms)
        rounds = self._spec.runs
        others = count + sum(len(more.cells) for more in self._more)
        many = (
            f"{rounds * (count + 1) + others}" if rounds else f"{LEAST_ROUNDS * (count + 1) + others} or more"
        )
        each = (
            f"{'of' if self._spec.against else 'under'} each of "
            f"{units.number(count, 'command' if self._spec.against else 'allocator')}"
            if self._spec.matrix is None
            else f"of each of {units.number(count, 'combination')}"
            + (" and controls" if self._spec.matrix.controls else "")
        )
        self._listener.say(
            f"{self._spec.program.command[0]} runs {many} times: a warm-up {each}, "
            f"then rounds of {count + 1} runs (the baseline twice)"
            + (", and once or twice under strace" if self._spec.pairing == "auto" else "")
            + "".join(f", then {len(more.cells)} {more.words()}" for more in self._more)
        )

    def _warm_up(self) -> None:
        for number, cell in enumerate(self._arms):
            self._listener.progress(number, len(self._arms), f"warm-up, {self._label(cell)}")
            run = self._once.run(cell, warmup=True)
            if cell.arm() == self._baseline:
                self._once.require_sound(run.outcome)
                requests.require(self._spec, run.outcome)
            self._judge(cell, run.outcome)
        rounds, _ = self._plan()
        if not self._spec.runs and rounds < LEAST_ROUNDS and len(self.dropped) < len(self._arms) - 1:
            self.stopped_early = True
            self.notes.append(self._of_budget(rounds))

    def _of_budget(self, rounds: int) -> str:
        """What the budget is too small for; below two rounds there is no interval, and so no answer."""
        allows = f"the budget of {self._spec.budget:g} s allows {units.number(rounds, 'round')}"
        if rounds >= statistics.LEAST_ROUNDS:
            return f"{allows}; {LEAST_ROUNDS} would say more"
        self.needed_budget = self._needs(statistics.LEAST_ROUNDS)
        more = self._needs(LEAST_ROUNDS)
        return (
            f"{allows}, and an interval takes two: give --budget {self.needed_budget:.0f} for two, "
            f"{more:.0f} for {LEAST_ROUNDS}"
        )

    def _needs(self, rounds: int) -> float:
        """Whole seconds for the warm-ups and so many rounds, which may take a fifth longer than those."""
        warm_ups = sum(run.seconds for run in self._folder.runs if run.warmup)
        return math.ceil(warm_ups + rounds * 1.2 * self._a_round())

    def _foretell(self) -> None:
        rounds, seconds = self._plan()
        if rounds == 0:
            return
        runs = rounds * self._runs_a_round()
        later = self._later()
        beside = f", and about {_duration(later)} for what comes after them" if later else ""
        self._listener.say(
            f"{units.number(runs, 'run')} in {units.number(rounds, 'round')}, "
            f"about {_duration(seconds)}{beside}"
        )

    def _rounds(self) -> None:
        rounds, _ = self._plan()
        for number in range(rounds):
            if len(self.dropped) == len(self._arms) - 1:
                return
            if self._over_budget(number):
                self.stopped_early = True
                if number < statistics.LEAST_ROUNDS and not self.needed_budget:
                    self.notes.append(self._of_budget(number))
                return
            cells = schedule.a_round(self._living(number), number, self._spec.seed)
            if self.pairing.method == "simultaneous":
                self._round_together(cells, number, rounds)
            else:
                self._round(cells, number, rounds)
        self._listener.progress(rounds * self._runs_a_round(), rounds * self._runs_a_round(), "")

    def _round(self, cells: Sequence[Cell], number: int, rounds: int) -> None:
        done = number * self._runs_a_round()
        for place, cell in enumerate(cells):
            if cell.arm() in self.dropped:
                continue
            self._listener.progress(
                done + place, rounds * self._runs_a_round(), f"round {number + 1}, {self._label(cell)}"
            )
            self._examine(cell, self._once.run(cell, warmup=False).outcome)

    def _round_together(self, cells: Sequence[Cell], number: int, rounds: int) -> None:
        each = self._runs_a_round()
        self._listener.progress(number * each, rounds * each, f"round {number + 1}, all at once")
        for run in self._once.run_together(cells, pairing.core(number, self._spec.seed)):
            self._examine(run.cell, run.outcome)

    @cached_property
    def _more(self) -> list[_More]:
        """One sampled run an arm; where misses are asked for, one for each event, or in simulated caches."""
        matrix = self._spec.matrix
        if matrix is None:
            return []
        wanted = arms.wanted(self._spec, matrix)
        more = [_More("sampled runs", [schedule.sampled(arm) for arm in wanted])]
        if matrix.caches == COUNTERS:
            events = counters.here()
            counted = [schedule.counted(arm, event) for arm in wanted for event in events]
            more.append(_More("runs in which the processor counts", counted))
        elif matrix.caches:
            simulated = [schedule.simulated(arm) for arm in wanted]
            more.append(_More("runs in simulated caches", simulated, SIMULATED))
        return more

    def _once_more(self, more: _More) -> None:
        cells = [cell for cell in more.cells if cell.arm() not in self.dropped]
        left_out = 0
        for number, cell in enumerate(cells):
            self._listener.progress(number, len(cells), f"{more.what}, {self._label(cell)}")
            if self._has_time(cell, more):
                self._once.run(cell, warmup=False)
            else:
                left_out += 1
        self._listener.progress(len(cells), len(cells), "")
        if left_out:
            which = f"{left_out} of {len(cells)} {more.what}"
            self.notes.append(f"the budget of {self._spec.budget:g} s left no time for {which}")

    def _has_time(self, cell: Cell, more: _More) -> bool:
        """Whether the run has ended already, or the budget allows what it will probably take."""
        if self._spec.budget is None or (False, cell.key()) in self._once.done:
            return True
        spent = sum(run.seconds for run in self._folder.runs)
        return spent + more.times * self._usual(cell) <= self._spec.budget

    def _later(self) -> float:
        """Seconds that all runs after the rounds will probably take."""
        return sum(
            more.times * self._usual(cell)
            for more in self._more
            for cell in more.cells
            if cell.arm() not in self.dropped
        )

    def _usual(self, cell: Cell) -> float:
        """Seconds that the warm-up of the cell's arm took."""
        return next(run.seconds for run in self._folder.runs if run.warmup and run.cell.arm() == cell.arm())

    def _living(self, number: int) -> list[Cell]:
        """What a round is of; one beyond those that the experiment was to have is without its controls."""
        matrix, own = self._spec.matrix, self._spec.runs
        every = arms.wanted(self._spec, matrix) if matrix and 0 < own <= number else self._arms
        return [arm for arm in every if arm.arm() not in self.dropped]

    def _label(self, cell: Cell) -> str:
        return arms.label(self._spec, cell)

    def _runs_a_round(self) -> int:
        return len(self._arms) - len(self.dropped) + 1

    def _plan(self) -> tuple[int, float]:
        """How many rounds, and how many seconds; follows from the warm-ups, so is the same after a resume."""
        a_round = self._a_round()
        if self._spec.runs:
            rounds = max(self._spec.runs, self._asked)
            return rounds, rounds * a_round
        if self._spec.budget is None:
            rounds = min(MOST_ROUNDS, max(LEAST_ROUNDS, int(USUAL_SECONDS / a_round)))
        else:
            spent = sum(run.seconds for run in self._folder.runs if run.warmup)
            left = self._spec.budget - spent
            # What comes after the rounds takes no time from the fewest that say something.
            least = min(LEAST_ROUNDS, int(left / a_round))
            rounds = min(MOST_ROUNDS, max(0, least, int((left - self._later()) / a_round)))
        return rounds, rounds * a_round

    def _a_round(self) -> float:
        """Seconds that a round will probably take: what the warm-ups took, the baseline's twice."""
        each = [run for run in self._folder.runs if run.warmup and run.cell.arm() not in self.dropped]
        baseline = next(run.seconds for run in each if run.cell.arm() == self._baseline)
        return max(1e-4, sum(run.seconds for run in each) + baseline)

    def _over_budget(self, number: int) -> bool:
        """Whether another round would go beyond the budget. A round that was begun before a kill goes on."""
        if self._spec.budget is None or any(
            not run.warmup and run.cell.repeat == number for run in self._folder.runs
        ):
            return False
        spent = sum(run.seconds for run in self._folder.runs)
        return spent + self._a_round() > self._spec.budget

    def _judge(self, cell: Cell, outcome: Outcome) -> None:
        self._examine(cell, outcome, "in the warm-up")
        if cell.arm() in self.dropped:
            return
        verification = verify.judge(self._allocators[cell.allocator], outcome.heap)
        self.notes += [note for note in verification.notes if note not in self.notes]
        if verification.verified:
            return
        if cell.arm() == self._baseline:
            self.notes.append(verification.problem)
        else:
            self.dropped[cell.arm()] = verification.problem

    def _examine(self, cell: Cell, outcome: Outcome, when: str = "") -> None:
        """Drops an arm in which the program crashes or hangs; of the baseline it is only noted."""
        when = when or f"in round {cell.repeat + 1}"
        problem = failure(outcome, self._spec.timeout)
        if not problem:
            return
        problem += f" ({when})"
        if cell.arm() == self._baseline:
            note = f"under {self._label(cell)} {problem}"
            if note not in self.notes:
                self.notes.append(note)
        else:
            self.dropped[cell.arm()] = problem


def _duration(seconds: float) -> str:
    if seconds < 1:
        return "a second"
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min"
