"""Runs an experiment's cells, one after another, and keeps each as it ends."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import msgspec

from reap.allocators import verify
from reap.allocators.verify import Verification
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.experiment import arms, pairing, schedule, sequential
from reap.experiment.budget import LEAST_ROUNDS, SIMULATED, Budget, Cost, More, announcement
from reap.experiment.folder import Folder
from reap.experiment.once import Once, failure
from reap.experiment.records import Cell, Pairing, Run
from reap.experiment.spec import COUNTERS
from reap.experiment.starter import Starter
from reap.launch.records import Outcome
from reap.launch.tools import counters


class Listener:
    """Hears how an experiment goes. This one is silent; a terminal's overrides it."""

    def say(self, text: str) -> None:
        """Something that the user must know before it goes on."""

    def progress(self, done: int, total: int, label: str) -> None:
        """`done` of about `total` runs have ended, and `label` runs now (empty at the end)."""


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


class Runner:
    """One experiment in its folder. What was run before a kill is not run again."""

    def __init__(
        self,
        folder: Folder,
        listener: Listener,
        starter: Starter | None = None,
        rounds: int = 0,
        is_decided: Callable[[], bool] = lambda: False,
    ) -> None:
        """With `rounds`, an experiment of fewer gets so many. Those beyond its own are without controls.

        `is_decided` is asked of a sequential experiment at its looks: whether its rounds answer it.
        """
        self._folder = folder
        self._spec = folder.spec
        self._listener = listener
        self._once = Once(folder, starter)
        self._allocators = {allocator.name: allocator for allocator in self._spec.allocators}
        self._arms = arms.arms(self._spec)
        self._baseline = self._arms[0].arm()
        self.dropped: dict[str, str] = {}
        """By `Cell.arm()`: arms that are not run any more, and why, a sentence each."""
        self.notes: list[str] = folder.extension_notes()
        self._is_decided = is_decided
        self.stopped_early = False
        self.decided = False
        """Whether rounds ended at a look since nothing was open any more."""
        self.pairing = Pairing()
        """How the rounds are paired; known when the warm-ups have ended."""
        self.widening = 1.0
        """Width of intervals, in those for a fixed number of rounds; known when the warm-ups have ended."""
        self._budget = Budget(folder, self._baseline, self.dropped, rounds)

    @property
    def needed_budget(self) -> float:
        """Seconds that two rounds take with the warm-ups, where the budget has no time for them; else 0."""
        return self._budget.needed

    def run(self) -> None:
        """Runs all that is left. Throws ReapError; `InterruptedRunError` on Ctrl-C."""
        with stoppable(self._folder):
            self._begin()
            self._rounds()
            for more in self._more:
                self._once_more(more)

    @property
    def round_seconds(self) -> float:
        """Seconds that a round takes, estimated from the warm-ups or the first round."""
        return self._budget.a_round()

    def cost(self) -> Cost:
        """Runs the warm-ups that are left, and no more. Throws what `run` throws."""
        with stoppable(self._folder):
            self._begin()
            return Cost(a_round=self._budget.a_round(), later=self._budget.later(self._more))

    def begin(self) -> None:
        """Runs the warm-ups that are left and settles the pairing, and no more. Throws what `run` throws."""
        with stoppable(self._folder):
            self._begin()

    def one_round(self, number: int) -> list[Run]:
        """Runs a single round after `begin`: a round alone, whichever others run elsewhere. Throws ReapError.

        Empty where nothing is left to compare the baseline with.
        """
        if len(self.dropped) == len(self._arms) - 1:
            return []
        with stoppable(self._folder):
            return self._a_round(number, number + 1)

    def cells(self, number: int) -> list[Cell]:
        """Cells of a round, after `begin`."""
        return schedule.a_round(self._living(number), number, self._spec.seed)

    def _begin(self) -> None:
        begun = len(self._once.done) >= len(self._arms) * self._spec.warm_ups
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
        self._budget.plan_loads(at_once=self.pairing.method != "sequential")
        if self._spec.sequential:
            self.widening = sequential.widening(self._budget.plan(self._more)[0])
        if not begun:
            self._foretell()

    def _announce(self) -> None:
        """Before anything runs: a command that sends mail should not be run thirty times unawares."""
        self._listener.say(announcement(self._spec, len(self._arms), self._more))

    def _warm_up(self) -> None:
        warm_ups = [
            msgspec.structs.replace(cell, repeat=number)
            for number in range(self._spec.warm_ups)
            for cell in self._arms
        ]
        spent: dict[str, int] = {}
        for number, cell in enumerate(warm_ups):
            if cell.arm() in self.dropped:
                continue
            self._listener.progress(number, len(warm_ups), f"warm-up, {self._label(cell)}")
            run = self._once.run(cell, warmup=True)
            if cell.arm() == self._baseline:
                self._once.require_sound(run.outcome)
            self._judge(cell, run.outcome)
            spent[cell.arm()] = run.outcome.cpu_ns
        if self._spec.explains:
            self.dropped |= {**arms.slower(self._arms, spent), **self.dropped}

    def _foretell(self) -> None:
        rounds, seconds = self._budget.plan(self._more)
        if rounds == 0:
            return
        runs = rounds * self._runs_a_round()
        later = self._budget.later(self._more)
        beside = f", and about {units.about(later)} for what comes after them" if later else ""
        most, fewer = ("at most ", "; fewer once all are decided") if self.widening > 1 else ("", "")
        self._listener.say(
            f"{most}{units.number(runs, 'run')} in {units.number(rounds, 'round')}, "
            f"about {units.about(seconds)}{beside}{fewer}"
        )

    def _rounds(self) -> None:
        rounds, _ = self._budget.plan(self._more)
        number = 0
        while number < rounds:
            if len(self.dropped) == len(self._arms) - 1:
                return
            if self._spec.sequential and number in sequential.LOOKS and self._is_decided():
                self.decided = True
                break
            if not self._budget.allows_round(number):
                self.stopped_early = True
                break
            self._a_round(number, rounds)
            number += 1
            if number == 1:
                self._budget.plan_loads(at_once=self.pairing.method != "sequential")
                rounds, _ = self._budget.plan(self._more)
                if self._spec.sequential:
                    self.widening = sequential.widening(rounds)
        if self._spec.budget is not None and not self._spec.runs and number < LEAST_ROUNDS:
            self._say_too_few(number)
        self._listener.progress(rounds * self._runs_a_round(), rounds * self._runs_a_round(), "")

    def _say_too_few(self, rounds: int) -> None:
        if len(self.dropped) < len(self._arms) - 1:
            self.stopped_early = True
            self.notes.append(self._budget.too_small(rounds))

    def _a_round(self, number: int, rounds: int) -> list[Run]:
        cells = self.cells(number)
        if self.pairing.method != "sequential":
            return self._round_together(cells, number, rounds)
        return self._round(cells, number, rounds)

    def _round(self, cells: Sequence[Cell], number: int, rounds: int) -> list[Run]:
        done = number * self._runs_a_round()
        ended = []
        for place, cell in enumerate(cells):
            if cell.arm() in self.dropped:
                continue
            self._listener.progress(
                done + place, rounds * self._runs_a_round(), f"round {number + 1}, {self._label(cell)}"
            )
            ended.append(self._once.run(cell, warmup=False))
            self._examine(cell, ended[-1].outcome)
        return ended

    def _round_together(self, cells: Sequence[Cell], number: int, rounds: int) -> list[Run]:
        each = self._runs_a_round()
        self._listener.progress(number * each, rounds * each, f"round {number + 1}, all at once")
        core = pairing.core(number, self._spec.seed) if self.pairing.method == "simultaneous" else None
        groups = pairing.groups(cells, self.pairing)
        ended = [run for group in groups for run in self._once.run_together(group, core, self.pairing)]
        for run in ended:
            self._examine(run.cell, run.outcome)
        return ended

    @cached_property
    def _more(self) -> list[More]:
        """One sampled run an arm; where misses are asked for, one for each event, or in simulated caches."""
        plan = self._spec.fragment
        if plan is None:
            return self._witness()
        wanted = arms.wanted(self._spec, plan)
        more = [More("sampled runs", [schedule.sampled(arm) for arm in wanted])]
        if plan.caches == COUNTERS:
            events = counters.here()
            counted = [schedule.counted(arm, event) for arm in wanted for event in events]
            more.append(More("runs in which the processor counts", counted))
        elif plan.caches:
            simulated = [schedule.simulated(arm) for arm in wanted]
            more.append(More("runs in simulated caches", simulated, SIMULATED))
        return more

    def _witness(self) -> list[More]:
        """One run an arm in which its instructions are counted, where that is asked for."""
        if not self._spec.witness:
            return []
        if self._spec.witness == COUNTERS:
            cells = [schedule.counted(arm, "instructions") for arm in self._arms]
            return [More("runs in which the processor counts instructions", cells)]
        return [More("runs under callgrind", [schedule.simulated(arm) for arm in self._arms], SIMULATED)]

    def _once_more(self, more: More) -> None:
        cells = [cell for cell in more.cells if cell.arm() not in self.dropped]
        left_out = 0
        for number, cell in enumerate(cells):
            self._listener.progress(number, len(cells), f"{more.what}, {self._label(cell)}")
            if (False, cell.key()) in self._once.done or self._budget.allows(cell, more.times):
                self._once.run(cell, warmup=False)
            else:
                left_out += 1
        self._listener.progress(len(cells), len(cells), "")
        if left_out:
            which = f"{left_out} of {len(cells)} {more.what}"
            self.notes.append(f"the budget of {self._spec.budget:g} s left no time for {which}")

    def _living(self, number: int) -> list[Cell]:
        """Arms of a round that are not dropped; a round beyond those planned is without its controls."""
        plan, own = self._spec.fragment, self._spec.runs
        every = arms.wanted(self._spec, plan) if plan and 0 < own <= number else self._arms
        return [arm for arm in every if arm.arm() not in self.dropped]

    def _label(self, cell: Cell) -> str:
        return arms.label(self._spec, cell)

    def _runs_a_round(self) -> int:
        return len(self._arms) - len(self.dropped) + 1

    def _judge(self, cell: Cell, outcome: Outcome) -> None:
        self._examine(cell, outcome, "in the warm-up")
        if cell.arm() in self.dropped:
            return
        verification = verify.judge(
            self._allocators[cell.allocator],
            outcome.heap,
            replaces=not self._spec.against,
            aside=bool(self._spec.program.stands_aside),
            started=self._spec.program.path,
        )
        self.notes += [note for note in verification.notes if note not in self.notes]
        if verification.verified:
            return
        if cell.arm() == self._baseline:
            self._require_baseline(verification)
            self.notes.append(verification.problem)
        else:
            self.dropped[cell.arm()] = verification.problem

    def _require_baseline(self, verification: Verification) -> None:
        """Throws ReapError where every level is compared with a malloc that is not the program's."""
        spec, provider = self._spec, verification.provider
        if spec.fragment is None or not provider or verify.serves(spec.baseline, provider):
            return
        names = [f"own={provider}", *(each.name for each in spec.allocators if each != spec.baseline)]
        raise ReapError(
            verification.problem,
            f"name it: --baseline own --allocators {','.join(names)}",
            ExitCode.NOT_EXECUTABLE,
        )

    def _examine(self, cell: Cell, outcome: Outcome, when: str = "") -> None:
        """Drops an arm in which the program crashes or hangs; of the baseline it is only noted."""
        problem = failure(outcome, self._spec.timeout)
        if not problem:
            return
        problem += f" ({when or f'in round {cell.repeat + 1}'})"
        if cell.arm() == self._baseline:
            note = f"under {self._label(cell)} {problem}: what was measured then counts for nothing"
            if note not in self.notes:
                self.notes.append(note)
        else:
            self.dropped[cell.arm()] = problem
