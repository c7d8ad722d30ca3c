"""Searches an allocator's own settings on one program, and confirms what wins in runs of its own."""

import math
import shlex
from collections.abc import Mapping, Sequence

from reap.allocators import knobs, verify
from reap.allocators.knobs import Objective
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.compare import phrases
from reap.compare.analyse import PER_REQUEST, others
from reap.compare.thresholds import TOO_SHORT
from reap.experiment import pairing, schedule, sequential
from reap.experiment.folder import Folder
from reap.experiment.metrics import MEMORY, named
from reap.experiment.once import Once, last_words
from reap.experiment.records import Cell, Pairing, Run
from reap.experiment.runner import Listener, stoppable
from reap.experiment.spec import Option
from reap.experiment.starter import Starter
from reap.launch import preloads, wrappers
from reap.launch.records import Outcome
from reap.tune import plan, standing
from reap.tune.records import Finding, Look, Trial, Tuned
from reap.tune.rounds import Rounds

_TAIL = "request_p99"

Choices = dict[Objective, Option]
"""What was chosen for an objective."""

_SILENTLY = ("sh", "-c", 'exec "$@" >/dev/null', "sh")
"""What a command is put behind to say nothing on standard output."""


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
        assert family is not None  # noqa: S101 - `specify_search` has seen to it
        self._spec, self._tune, self._family = folder.spec, folder.spec.tune, family
        self._listener = listener
        self._once = Once(folder, starter)
        self._rounds = Rounds(self._spec.timeout, family.complaint, self._spec.worth)
        self._tried: dict[str, Option] = {}
        self._objectives = list(self._tune.objectives)
        self._metrics: dict[Objective, str] = {
            "cpu": "cpu",
            "tail": "wall",
            "memory": MEMORY["peak"],
            "settled": MEMORY["settled"],
            "mean": MEMORY["mean"],
        }
        self._folder = folder
        self._pairing = Pairing()
        self._decided, self._widening, self._short = False, 1.0, False
        self._used = 0
        self._number = 0
        self._notes = [*self._spec.program.notes, *self._spec.baseline.notes, *self._tune.notes]

    def run(self) -> Tuned:
        """From the first look to the confirmation."""
        tune, most = self._tune, self._tune.most
        look = self._look()
        part = plan.part(most)
        options = plan.first(tune.options, self._objectives, look, most)
        self._leave_out(options)
        if self._spec.pairing != "sequential":
            baseline = self._cell(None)
            copies = len(options) + 2
            self._pairing = pairing.settle(
                self._folder, copies, lambda: [self._once.alone(baseline)], self._listener.say
            )
        self._measure(options, plan.rounds(len(options), part), "first")
        again = plan.second(self._living(), self._objectives, self._score, self._unrest(), most)
        if again:
            self._measure(again, plan.rounds(len(again), part), "second")
        begun, unrest = self._number, self._unrest()
        chosen = {
            what: option
            for what in self._objectives
            if (option := plan.choice(self._living(), what, self._score, unrest))
        }
        final = plan.finalists(chosen, self._score, unrest, most - self._used)
        self._confirm(begun, final)
        self._listener.progress(self._used, self._most, "")
        return self._drawn(look, begun, chosen, final, unrest)

    @property
    def _most(self) -> int:
        return max(self._tune.most, self._tune.extended)

    def _confirm(self, begun: int, final: Choices) -> None:
        """Rounds of what won alone, until all of it is decided or no runs are left."""
        arms = list({each.name: each for each in final.values()}.values())
        if not arms:
            return
        rounds = plan.confirming(len(arms), self._most - self._used)
        self._widening = sequential.widening(rounds)
        if self._tune.extended:
            self._notes.append(
                f"runs were added after {self._tune.most}: if that was for what these showed, the intervals "
                "leave the truth out more often than 1 time in 20"
            )
        ends = [look for look in sequential.LOOKS if look < rounds]
        for end in [*ends, rounds]:
            self._measure(arms, begun + end - self._number, "last")
            pairs = [(option.name, self._metrics[what]) for what, option in final.items()]
            if end < rounds and self._rounds.decided(pairs, begun, plan.level(final), self._widening):
                self._decided = True
                return

    def _look(self) -> Look:
        """The first run: who serves malloc, and what speaks for which settings."""
        name = wrappers.name(self._spec.program.command)
        self._listener.say(f"{name} runs {self._most} times at most")
        run = self._run(self._cell(None), warmup=True)
        self._once.require_sound(run.outcome)
        if run.outcome.failure:
            raise ReapError(run.outcome.failure, "run --server and --load by hand first", ExitCode.FAILED)
        if run.outcome.served:
            self._metrics["cpu"] = PER_REQUEST
        verification = verify.judge(self._spec.baseline, run.outcome.heap)
        if not verification.verified:
            raise ReapError(
                f"nothing of {self._spec.baseline.name} can be set: {verification.problem}",
                "name the one that serves the program with --allocator, if its settings are known",
                ExitCode.NOT_EXECUTABLE,
            )
        self._notes += verification.notes
        outcome = run.outcome
        self._see_requests(outcome)
        self._listener.say(f"that takes about {units.duration(self._most * run.seconds)}")
        self._short = outcome.cpu_ns < TOO_SHORT * 1e9 and self._spec.server is None
        if self._short:
            self._notes.append(phrases.too_short(name, outcome.cpu_ns / 1e9))
        return Look(
            cpu=outcome.cpu_ns / 1e9,
            wall=outcome.wall_ns / 1e9,
            system_share=outcome.system_ns / max(1, outcome.cpu_ns),
            parallel=outcome.cpu_ns / max(1, outcome.wall_ns),
            minor_faults=outcome.minor_faults,
            peak_resident=outcome.peak_resident,
        )

    def _see_requests(self, outcome: Outcome) -> None:
        """The tail is that of marked requests; where there are too few, wall time stands for it."""
        if named(_TAIL).known(outcome):
            self._metrics["tail"] = _TAIL
            if self._tune.usual:
                self._objectives.append("tail")
        elif "tail" in self._objectives:
            self._notes.append(
                "the program marks too few requests for a tail: wall time stands for it (see docs/marks.md)"
            )

    def _leave_out(self, options: Sequence[Option]) -> None:
        taken = {each.name for each in options}
        left = [each.name for each in self._tune.options if each.name not in taken]
        if left:
            self._notes.append(f"not tried, too few runs: {', '.join(left)}; increase --runs")

    def _measure(self, options: Sequence[Option], rounds: int, which: str) -> None:
        """So many rounds of these options and the baseline's two copies."""
        self._tried |= {each.name: each for each in options}
        arms = {self._cell(option).arm(): option.name for option in options}
        for _ in range(rounds):
            cells = [self._cell(None), *(self._cell(option) for option in options)]
            self._round(schedule.a_round(cells, self._number, self._spec.seed), arms, which)
            self._number += 1
        if failed := self._rounds.failed():
            self._notes.append(f"as it is, {failed}; the rounds in which that was count for nothing")

    def _round(self, cells: Sequence[Cell], arms: Mapping[str, str], which: str) -> None:
        if self._pairing.method != "sequential":
            alone = self._pairing.method == "simultaneous"
            sound = [cell for cell in cells if not self._given_up(arms.get(cell.arm(), ""))]
            self._listener.progress(self._used, self._most, f"{which} rounds, all at once")
            self._used += len(sound)
            core = pairing.core(self._number, self._spec.seed) if alone else None
            for run in self._once.run_together(sound, core, self._pairing):
                self._keep(arms.get(run.cell.arm(), ""), run)
            return
        for cell in cells:
            name = arms.get(cell.arm(), "")
            self._listener.progress(self._used, self._most, f"{which} rounds, {name or 'as it is'}")
            if not self._given_up(name):
                self._keep(name, self._run(cell, warmup=False))

    def _given_up(self, name: str) -> bool:
        return bool(name and self._rounds.problem(name))

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
        return self._rounds.score(name, self._metrics[what], self._number)

    def _unrest(self) -> dict[Objective, float]:
        return {what: self._rounds.unrest(metric, self._number) for what, metric in self._metrics.items()}

    def _drawn(
        self, look: Look, begun: int, chosen: Choices, final: Choices, unrest: dict[Objective, float]
    ) -> Tuned:
        level = plan.level(final)
        trials = [self._trial(option, begun) for option in self._tried.values()]
        if any(each.same_output is False for each in trials):
            self._notes.append(
                "a program that prints its own times prints others under a better setting, too: "
                "search without its output, as in: "
                + shlex.join(["reap", "tune", "--", *_SILENTLY, *self._spec.program.command])
            )
        return Tuned(
            command=self._spec.program.command,
            allocator=self._spec.baseline.name,
            origin=self._spec.baseline.origin,
            library=self._spec.baseline.library,
            preloaded=preloads.inherited(),
            runs=self._used,
            most=self._most,
            look=look,
            findings=[
                self._finding(what, begun, chosen.get(what), final.get(what), level)
                for what in self._objectives
            ],
            level=level,
            rounds=self._number - begun,
            decided=self._decided,
            widening=self._widening,
            trials=trials,
            noise=self._rounds.noise(begun),
            restless=any(unrest[what] > self._spec.worth for what in self._objectives),
            exit_code=min(self._rounds.exits),
            last_words=last_words(self._rounds.outcomes, min(self._rounds.exits)),
            stdout_varies=len(self._rounds.outputs) > 1,
            pairing=self._pairing,
            load=self._spec.server.load.command if self._spec.server else [],
            loads=self._spec.server.each_start if self._spec.server else 0,
            others=others(self._rounds.every),
            notes=list(dict.fromkeys(self._notes)),
        )

    def _finding(
        self, what: Objective, begun: int, chosen: Option | None, option: Option | None, level: float
    ) -> Finding:
        metric = self._metrics[what]
        if chosen is None:
            return Finding(
                objective=what,
                metric=metric,
                why_not="no setting could be compared with the program as it is",
            )
        if option is None:
            score = self._rounds.score(chosen.name, metric, begun)
            seemed = units.ratio(math.exp(score))
            if plan.promising(score, self._rounds.unrest(metric, begun)):
                why = f"not confirmed, too few runs; the best seemed {chosen.name}, {seemed}"
                return Finding(objective=what, metric=metric, why_not=why)
            why = f"the best candidate, {chosen.name}, had {seemed} of it"
            return Finding(objective=what, metric=metric, why_not=why, standing="none")
        problem = self._rounds.problem(option.name)
        found = self._rounds.confirmed(option.name, metric, begun, level, self._widening)
        ratios = {} if problem else found
        return Finding(
            objective=what,
            metric=metric,
            name=option.name,
            environment=self._says(option.words),
            command=self._before(option),
            ratio=ratios.get(metric),
            beside={name: ratio for name, ratio in ratios.items() if name != metric},
            why_not=problem or ("" if ratios else "too few rounds were run for an interval"),
            standing=standing.of(
                what,
                metric,
                ratios,
                self._rounds.noise(begun),
                short=self._short,
                widening=self._widening,
                worth=self._spec.worth,
            ),
        )

    def _trial(self, option: Option, begun: int) -> Trial:
        rounds = [number for number in self._rounds.of.get(option.name, {}) if number < begun]
        problem = self._rounds.problem(option.name)
        metrics = dict.fromkeys(
            [self._metrics["cpu"], *(self._metrics[what] for what in self._objectives), "peak_resident"]
        )
        scores = {metric: self._rounds.score(option.name, metric, begun) for metric in metrics}
        return Trial(
            name=option.name,
            about=option.about,
            environment=self._says(option.words),
            command=self._before(option),
            rounds=len(rounds),
            scores={
                metric: math.exp(score)
                for metric, score in scores.items()
                if score < math.inf and not problem
            },
            same_output=self._rounds.same_output(option.name),
            same_exit=self._rounds.same_exit(option.name),
            problem=problem,
        )

    def _before(self, option: Option) -> list[str]:
        """Words that an option puts before the program's command."""
        words = next(
            (each.program.command for each in self._tune.variants if each.name == option.variant), []
        )
        return words[: len(words) - len(self._spec.program.command)]
