"""Searches an allocator's own settings on one program, and confirms what wins in runs of its own."""

import math
from collections.abc import Sequence

from reap import units
from reap.allocators import knobs, verify
from reap.allocators.knobs import Objective
from reap.errors import ExitCode, ReapError
from reap.experiment import schedule, tune_plan
from reap.experiment.folder import Folder
from reap.experiment.metrics import METRICS
from reap.experiment.once import Once
from reap.experiment.records import Cell, Run
from reap.experiment.runner import Listener, stoppable
from reap.experiment.spec import Option
from reap.experiment.starter import Starter
from reap.experiment.statistics import LEVEL
from reap.experiment.tune_plan import METRIC
from reap.experiment.tune_records import Finding, Look, Trial, Tuned
from reap.experiment.tune_rounds import Rounds

Choices = dict[Objective, Option]
"""What was chosen for an objective."""

SHORTEST = 0.02
"""Seconds of CPU time below which most of a run is its start."""


def tune(folder: Folder, listener: Listener | None = None, starter: Starter | None = None) -> Tuned:
    """Runs what is left of the search in `folder`, and says what it found. Throws ReapError.

    On Ctrl-C it throws `runner.InterruptedRunError`; the folder can be resumed.
    """
    with stoppable(folder):
        return _Search(folder, listener or Listener(), starter).run()


class _Search:
    """One search in its folder."""

    def __init__(self, folder: Folder, listener: Listener, starter: Starter | None) -> None:
        if folder.spec.tune is None:
            raise ReapError("this is no search for settings", "begin one with: reap tune -- CMD")
        family = knobs.family(folder.spec.baseline)
        assert family is not None  # noqa: S101 - `asked` has seen to it
        self._spec, self._tune, self._family = folder.spec, folder.spec.tune, family
        self._listener = listener
        self._once = Once(folder, starter)
        self._rounds = Rounds(self._spec.seed, self._spec.timeout, family.complaint)
        self._tried: dict[str, Option] = {}
        self._used = 0
        self._number = 0
        self._notes = [*self._spec.program.notes, *self._spec.baseline.notes, *self._tune.notes]

    def run(self) -> Tuned:
        """From the first look to the confirmation."""
        tune, most = self._tune, self._tune.most
        look = self._look()
        part = tune_plan.third(most)
        options = tune_plan.first(tune.options, tune.objectives, look, most)
        self._leave_out(options)
        self._measure(options, tune_plan.rounds(len(options), part), "first")
        again = tune_plan.second(self._living(), tune.objectives, self._score, self._unrest(), most)
        if again:
            self._measure(again, tune_plan.rounds(len(again), part), "second")
        begun, unrest = self._number, self._unrest()
        chosen = {
            what: option
            for what in tune.objectives
            if (option := tune_plan.choice(self._living(), what, self._score, unrest))
        }
        left = most - self._used
        final = tune_plan.finalists(chosen, self._score, unrest, left)
        arms = list({each.name: each for each in final.values()}.values())
        if arms:
            self._measure(arms, tune_plan.rounds(len(arms), left), "last")
        self._listener.progress(self._used, most, "")
        return self._drawn(look, begun, chosen, final)

    def _look(self) -> Look:
        """The first run: who serves malloc, and what speaks for which settings."""
        name = self._spec.program.command[0]
        self._listener.say(f"{name} runs {self._tune.most} times at most, under {self._spec.baseline.name}")
        run = self._run(self._cell(None), warmup=True)
        self._once.require_sound(run.outcome)
        verification = verify.judge(self._spec.baseline, run.outcome.heap)
        if not verification.verified:
            raise ReapError(
                f"nothing of {self._spec.baseline.name} can be set: {verification.problem}",
                "name the one that serves the program with --allocator, if its settings are known",
                ExitCode.NOT_EXECUTABLE,
            )
        self._notes += verification.notes
        outcome = run.outcome
        if outcome.cpu_ns < SHORTEST * 1e9:
            self._notes.append(
                f"a run takes {units.duration(outcome.cpu_ns / 1e9)} of CPU time, much of it its start: "
                "give it more to do, or gains will not be seen"
            )
        return Look(
            cpu=outcome.cpu_ns / 1e9,
            wall=outcome.wall_ns / 1e9,
            system_share=outcome.system_ns / max(1, outcome.cpu_ns),
            parallel=outcome.cpu_ns / max(1, outcome.wall_ns),
            minor_faults=outcome.minor_faults,
            peak_resident=outcome.peak_resident,
        )

    def _leave_out(self, options: Sequence[Option]) -> None:
        taken = {each.name for each in options}
        left = [each.name for each in self._tune.options if each.name not in taken]
        if left:
            self._notes.append(f"not tried, for want of runs: {', '.join(left)}; --runs allows more")

    def _measure(self, options: Sequence[Option], rounds: int, which: str) -> None:
        """So many rounds of these options and the baseline's two copies."""
        self._tried |= {each.name: each for each in options}
        arms = {self._cell(option).arm(): option.name for option in options}
        for _ in range(rounds):
            cells = [self._cell(None), *(self._cell(option) for option in options)]
            for cell in schedule.a_round(cells, self._number, self._spec.seed):
                name = arms.get(cell.arm(), "")
                label = name or "as it is"
                self._listener.progress(self._used, self._tune.most, f"{which} rounds, {label}")
                if name and self._rounds.problem(name):
                    continue
                self._keep(name, self._run(cell, warmup=False))
            self._number += 1

    def _run(self, cell: Cell, *, warmup: bool) -> Run:
        self._used += 1
        return self._once.run(cell, warmup=warmup)

    def _keep(self, name: str, run: Run) -> None:
        if name:
            self._rounds.of.setdefault(name, {})[run.cell.repeat] = run
        elif run.cell.control:
            self._rounds.control[run.cell.repeat] = run
        else:
            self._rounds.baseline[run.cell.repeat] = run

    def _cell(self, option: Option | None) -> Cell:
        words = option.words if option else {}
        return Cell(
            workload=self._spec.workload,
            variant=option.variant if option else self._spec.variant,
            allocator=self._spec.baseline.name,
            environment={**self._spec.environment, **self._tune.held, **self._says(words)},
        )

    def _says(self, words: dict[str, str]) -> dict[str, str]:
        return self._family.environment(words, self._tune.held)

    def _living(self) -> list[Option]:
        return [each for each in self._tried.values() if not self._rounds.problem(each.name)]

    def _score(self, name: str, what: Objective) -> float:
        return self._rounds.score(name, METRIC[what], self._number)

    def _unrest(self) -> dict[Objective, float]:
        return {what: self._rounds.unrest(metric, self._number) for what, metric in METRIC.items()}

    def _drawn(self, look: Look, begun: int, chosen: Choices, final: Choices) -> Tuned:
        # Bonferroni: of several settings that are confirmed at once, one may look better by luck.
        level = 1 - (1 - LEVEL) / max(1, len(final))
        return Tuned(
            command=self._spec.program.command,
            allocator=self._spec.baseline.name,
            origin=self._spec.baseline.origin,
            runs=self._used,
            most=self._tune.most,
            look=look,
            findings=[
                self._finding(what, begun, chosen.get(what), final.get(what), level)
                for what in self._tune.objectives
            ],
            level=level,
            rounds=self._number - begun,
            trials=[self._trial(option, begun) for option in self._tried.values()],
            noise=self._rounds.noise(begun),
            exit_code=min(self._rounds.exits),
            stdout_varies=len(self._rounds.outputs) > 1,
            notes=list(dict.fromkeys(self._notes)),
        )

    def _finding(
        self, what: Objective, begun: int, chosen: Option | None, option: Option | None, level: float
    ) -> Finding:
        metric = METRIC[what]
        if chosen is None:
            return Finding(objective=what, metric=metric, why_not="every setting was given up")
        if option is None:
            seemed = units.ratio(math.exp(self._rounds.score(chosen.name, metric, begun)))
            return Finding(
                objective=what,
                metric=metric,
                why_not=f"no setting seemed to gain any; the best was {chosen.name}, {seemed}",
            )
        problem = self._rounds.problem(option.name)
        confirmed = {
            each.name: self._rounds.confirmed(
                option.name, each.name, begun, level if each.name == metric else LEVEL
            )
            for each in METRICS
        }
        ratio = None if problem else confirmed[metric]
        return Finding(
            objective=what,
            metric=metric,
            name=option.name,
            environment=self._says(option.words),
            command=self._before(option),
            ratio=ratio,
            beside={}
            if problem
            else {name: held for name, held in confirmed.items() if held and name != metric},
            why_not=problem or ("" if ratio else "too few rounds were run for an interval"),
        )

    def _trial(self, option: Option, begun: int) -> Trial:
        rounds = [number for number in self._rounds.of.get(option.name, {}) if number < begun]
        problem = self._rounds.problem(option.name)
        metrics = dict.fromkeys(["cpu", *(METRIC[what] for what in self._tune.objectives), "peak_resident"])
        return Trial(
            name=option.name,
            about=option.about,
            environment=self._says(option.words),
            command=self._before(option),
            rounds=len(rounds),
            scores={}
            if problem
            else {metric: math.exp(self._rounds.score(option.name, metric, begun)) for metric in metrics},
            same_output=self._rounds.same_output(option.name),
            same_exit=self._rounds.same_exit(option.name),
            problem=problem,
        )

    def _before(self, option: Option) -> list[str]:
        """What is put before the program's command."""
        words = next(
            (each.program.command for each in self._tune.variants if each.name == option.variant), []
        )
        return words[: len(words) - len(self._spec.program.command)]
