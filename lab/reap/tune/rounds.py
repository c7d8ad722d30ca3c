"""The runs of a search by round: how settings compare with the baseline's two copies beside them."""

import math
import statistics as plain
from collections.abc import Iterable, Sequence

from reap.compare.analyse import beyond_noise
from reap.compare.run import SERVED
from reap.experiment import statistics
from reap.experiment.metrics import Metric, known, named, says
from reap.experiment.once import failure
from reap.experiment.records import InRounds, Ratio, Run
from reap.launch.records import Outcome


def _compares(metric: Metric, outcomes: Sequence[Outcome]) -> bool:
    """Whether it says something of these runs: not every metric does of servers."""
    return metric.name in SERVED or not any(each.loads for each in outcomes)


class Rounds:
    """Runs of a search, as they come in."""

    def __init__(self, timeout: float | None, complaint: str, worth: float) -> None:
        self._timeout, self._complaint, self._worth = timeout, complaint, worth
        self.baseline: dict[int, Run] = {}
        self.control: dict[int, Run] = {}
        self.of: dict[str, dict[int, Run]] = {}
        """By option."""

    @property
    def every(self) -> list[Run]:
        """All runs, those of the baseline's copies first."""
        of_options = (run for runs in self.of.values() for run in runs.values())
        return [*self.baseline.values(), *self.control.values(), *of_options]

    @property
    def outputs(self) -> set[str]:
        """Digests of the output of the baseline's copies: one, if that does not vary."""
        return {each.stdout_digest for each in self.outcomes}

    @property
    def exits(self) -> set[int]:
        """Exit statuses of the baseline's copies."""
        return {each.status for each in self.outcomes}

    @property
    def outcomes(self) -> list[Outcome]:
        """Outcomes of the baseline's copies."""
        return [run.outcome for run in [*self.baseline.values(), *self.control.values()]]

    def score(self, name: str, metric: str, before: int) -> float:
        """The mean logarithm of an option's ratio to the baseline in rounds below `before`."""
        own = [number for number in self.of.get(name, {}) if number < before and self._whole(number)]
        if not own:
            return math.inf
        measure = named(metric)
        pairs = statistics.paired_ratios(
            [self._base(measure, number) for number in own],
            [measure.of(self.of[name][number].outcome) for number in own],
            measure.quantum,
        )
        return plain.fmean(math.log(pair) for pair in pairs)

    def unrest(self, metric: str, before: int) -> float:
        """Largest difference between the baseline's copies in rounds below `before`, as a logarithm."""
        measure = named(metric)
        rounds = [number for number in self.control if number < before and self._whole(number)]
        if not rounds:
            return 0.0
        pairs = statistics.paired_ratios(
            [measure.of(self.baseline[number].outcome) for number in rounds],
            [measure.of(self.control[number].outcome) for number in rounds],
            measure.quantum,
        )
        return max(abs(math.log(pair)) for pair in pairs)

    def confirmed(
        self, name: str, main: str, first: int, level: float, widening: float = 1.0
    ) -> dict[str, Ratio]:
        """An option's ratios in the rounds from `first` on, that of `main` with an interval of `level`.

        `widening` is that of `statistics.interval`. Empty below two of them.
        """
        own = sorted(number for number in self.of.get(name, {}) if number >= first and self._whole(number))
        if len(own) < statistics.LEAST_ROUNDS:
            return {}
        every = [
            runs[number].outcome for runs in (self.baseline, self.control, self.of[name]) for number in own
        ]
        return {
            metric.name: statistics.compare(
                metric,
                [self._base(metric, number) for number in own],
                [metric.of(self.of[name][number].outcome) for number in own],
                level if metric.name == main else statistics.LEVEL,
                widening=widening,
                worth=self._worth,
            )
            for metric in known(every)
            if says(metric, self.baseline[own[0]]) and _compares(metric, every)
        }

    def decided(self, final: Iterable[tuple[str, str]], first: int, level: float, widening: float) -> bool:
        """Whether each option of `final`, which has its metric behind it, is decided as by `confirmed`.

        A gain must be one over both of the baseline's copies, too.
        """
        paired = InRounds(noise=self.noise(first), exit_code=0, stdout_varies=False, widening=widening)

        def is_known(ratio: Ratio) -> bool:
            gains = ratio.ratio.value <= 1 - self._worth
            return ratio.verdict != "inconclusive" and (not gains or beyond_noise(ratio, paired))

        return all(
            self.problem(name)
            or (
                (found := self.confirmed(name, metric, first, level, widening).get(metric)) is not None
                and is_known(found)
            )
            for name, metric in final
        )

    def noise(self, first: int) -> dict[str, Ratio]:
        """By metric: the control to the baseline in the rounds from `first` on."""
        rounds = sorted(number for number in self.control if number >= first and self._whole(number))
        if len(rounds) < statistics.LEAST_ROUNDS:
            return {}
        before = [self.baseline[number].outcome for number in rounds]
        after = [self.control[number].outcome for number in rounds]
        return {
            metric.name: statistics.compare(
                metric, [metric.of(each) for each in before], [metric.of(each) for each in after]
            )
            for metric in known([*before, *after])
            if says(metric, self.baseline[rounds[0]]) and _compares(metric, [*before, *after])
        }

    def failed(self) -> str:
        """Failure of the program as it is, in words; empty if it did not fail."""
        every = [*self.baseline.values(), *self.control.values()]
        return next(filter(None, (failure(run.outcome, self._timeout) for run in every)), "")

    def problem(self, name: str) -> str:
        """Reason why an option is given up; empty if it is not."""
        return next(filter(None, map(self._fault, self.of.get(name, {}).values())), "")

    def same_exit(self, name: str) -> bool:
        """Whether the program always ended as under the baseline."""
        return all(run.outcome.status in self.exits for run in self.of.get(name, {}).values())

    def same_output(self, name: str) -> bool | None:
        """Compares an option's output with the baseline's; None if that varies by itself, or nothing was run.

        Output of a server is not compared.
        """
        own = self.of.get(name, {})
        if len(self.outputs) != 1 or not own or self.outputs == {""}:
            return None
        return all(run.outcome.stdout_digest in self.outputs for run in own.values())

    def _whole(self, number: int) -> bool:
        """Whether both of the baseline's copies ended by themselves in a round."""
        copies = (self.baseline[number], self.control[number])
        return not any(failure(run.outcome, self._timeout) for run in copies)

    def _fault(self, run: Run) -> str:
        outcome = run.outcome
        if why := failure(outcome, self._timeout):
            return why
        if self._complaint and self._complaint in outcome.stderr_tail:
            told = next(iter(self.baseline.values())).outcome.stderr_tail
            if self._complaint not in told:
                line = next(each for each in outcome.stderr_tail.splitlines() if self._complaint in each)
                return f"the allocator does not know it: {line.strip()[:200]}"
        if outcome.status not in self.exits:
            return f"exit status {outcome.status} instead of {min(self.exits)}"
        if len(self.outputs) == 1 and outcome.stdout_digest not in self.outputs:
            return "the program's output is not what it is without it"
        return ""

    def _base(self, metric: Metric, number: int) -> float:
        """Between the baseline's two copies, as ratios go: their geometric mean."""
        one = metric.of(self.baseline[number].outcome)
        other = metric.of(self.control[number].outcome)
        return math.sqrt(one * other)
