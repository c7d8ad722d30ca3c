"""The runs of an experiment on fragmented heaps, by arm and round: what figures are drawn from."""

import statistics as plain
from collections.abc import Mapping, Sequence

from reap.experiment import arms, statistics
from reap.experiment.metrics import Metric, known
from reap.experiment.records import Cell, HugePages, Ratio, Run
from reap.experiment.spec import Spec
from reap.launch.records import Misses
from reap.launch.tools import counters


class Table:
    """The runs by arm and round."""

    def __init__(
        self, spec: Spec, runs: Sequence[Run], dropped: Mapping[str, str], widening: float = 1.0
    ) -> None:
        """`widening` is that of `statistics.interval`."""
        self.spec = spec
        self._widening = widening
        self.dropped = dropped
        self.baseline = arms.arms(spec)[0]
        self._measured: dict[str, dict[int, Run]] = {}
        self._controls: dict[int, Run] = {}
        self.warmups: dict[str, Run] = {}
        self._sampled: dict[str, Run] = {}
        self._simulated: dict[str, Run] = {}
        self._counted: dict[str, dict[str, Run]] = {}
        for run in runs:
            arm = run.cell.arm()
            if run.warmup:
                self.warmups[arm] = run
            elif run.cell.sampled:
                self._sampled[arm] = run
            elif run.cell.simulated:
                self._simulated[arm] = run
            elif run.cell.counted:
                self._counted.setdefault(arm, {})[run.cell.counted] = run
            elif run.cell.control:
                self._controls[run.cell.repeat] = run
            else:
                self._measured.setdefault(arm, {})[run.cell.repeat] = run
        reference = [*self._sound(self.baseline).values(), *_ended(self._controls).values()]
        reference = reference or [self.warmups[self.baseline.arm()]]
        self.status = reference[0].outcome.status
        self.exits = {run.outcome.status for run in reference}
        self.outputs = {run.outcome.stdout_digest for run in reference}

    def of(self, cell: Cell) -> dict[int, Run]:
        """The measured runs of the cell's arm, by round."""
        return self._measured.get(cell.arm(), {})

    def median_cpu(self, cell: Cell) -> float:
        """Seconds; 0 where no round was run."""
        seconds = [run.outcome.cpu_ns / 1e9 for run in self.of(cell).values()]
        return plain.median(seconds) if seconds else 0.0

    def every(self, cell: Cell) -> list[Run]:
        """The measured runs of the cell's arm, and its warm-up.

        What came of a run whose time counts for nothing spoils no round: `sampled` and `misses` pass it over.
        """
        warmup = self.warmups.get(cell.arm())
        return [*self.of(cell).values(), *([warmup] if warmup else [])]

    def cell(
        self, variant: str, allocator: str, level: str, layout: int = 0, huge: HugePages | None = None
    ) -> Cell:
        """Without `huge` it has what the baseline has of huge pages."""
        return Cell(
            workload=self.spec.workload,
            variant=variant,
            allocator=allocator,
            level=level,
            layout=layout,
            huge_pages=self.baseline.huge_pages if huge is None else huge,
            environment=self.spec.environment,
        )

    def ratios(self, base: Cell, cell: Cell) -> dict[str, Ratio]:
        """By metric; empty below two common sound rounds, and where either arm says nothing."""
        if self.problem(base) or self.problem(cell):
            return {}
        return self._ratios(self._sound(base), self._sound(cell))

    def cpu(self, base: Cell, cell: Cell) -> Ratio | None:
        """Ratio of CPU time alone, or None where `ratios` has none."""
        return self.ratios(base, cell).get("cpu")

    def misses(self, cell: Cell) -> Misses | None:
        """Cache misses of the arm, in runs that ended as they should."""
        if run := self._simulated.get(cell.arm()):
            return None if self._ending_fault(run) else run.misses
        counted = self._counted.get(cell.arm(), {})
        sound = {name: run for name, run in counted.items() if not self._ending_fault(run)}
        return counters.misses({name: run.outcome.events for name, run in sound.items()})

    @property
    def looked_for_misses(self) -> bool:
        """Whether some run was for them."""
        return bool(self._simulated or self._counted)

    def sampled(self, cell: Cell) -> tuple[Run | None, str]:
        """The run of the arm that was sampled, if there is a sound one; else why it is not."""
        run = self._sampled.get(cell.arm())
        if run is None:
            return None, ""
        why = self._run_fault(run)
        return (None, why) if why else (run, "")

    def noise(self) -> dict[str, Ratio]:
        """The baseline to itself, by metric."""
        return self._ratios(self._sound(self.baseline), _ended(self._controls))

    def problem(self, cell: Cell) -> str:
        """Reason why the arm has no result; empty if it has one."""
        if why := self.fault(cell):
            return why
        if len(self._sound(cell)) < statistics.LEAST_ROUNDS:
            return f"too few rounds were run for an interval ({len(self._sound(cell))})"
        return ""

    def fault(self, cell: Cell) -> str:
        """Fault of the arm, or empty; too few rounds are not a fault."""
        return self.dropped.get(cell.arm()) or next(filter(None, map(self._run_fault, self.every(cell))), "")

    def littered(self, cell: Cell) -> bool:
        """Whether its heap was littered in every run in which it was to be."""
        return not any(_litter_fault(run) for run in self.every(cell))

    def same_exit(self, cell: Cell) -> bool:
        """Whether it always ended as the baseline does."""
        return all(run.outcome.status in self.exits for run in self.every(cell))

    def same_output(self, cell: Cell) -> bool | None:
        """Returns whether output always was the baseline's; None where it may vary, or nothing was run."""
        every = self.every(cell)
        if self._may_vary(cell) or not every:
            return None
        return all(run.outcome.stdout_digest in self.outputs for run in every)

    def _may_vary(self, cell: Cell) -> bool:
        """Whether output says nothing: a layout has a variable of its own, which a program may print."""
        return len(self.outputs) > 1 or cell.layout != 0

    def _run_fault(self, run: Run) -> str:
        """Reason why a run gives no result for its arm; empty if it gives one."""
        if why := self._ending_fault(run):
            return why
        if not self._may_vary(run.cell) and run.outcome.stdout_digest not in self.outputs:
            return "the program's output differs from the baseline's"
        return ""

    def _ending_fault(self, run: Run) -> str:
        """Form of `_run_fault` that ignores output, which may be another in a simulated processor."""
        if why := _litter_fault(run):
            return why
        if run.outcome.status not in self.exits:
            return f"exit status {run.outcome.status} instead of {min(self.exits)}"
        return ""

    def _sound(self, cell: Cell) -> dict[int, Run]:
        return _ended(self.of(cell))

    def _ratios(self, base: Mapping[int, Run], own: Mapping[int, Run]) -> dict[str, Ratio]:
        rounds = sorted(base.keys() & own.keys())
        if len(rounds) < statistics.LEAST_ROUNDS:
            return {}
        return {
            metric.name: statistics.compare(
                metric,
                [_value(metric, base[number]) for number in rounds],
                [_value(metric, own[number]) for number in rounds],
                widening=self._widening,
                worth=self.spec.worth,
            )
            for metric in known(runs[number].outcome for runs in (base, own) for number in rounds)
            if not (metric.alone and base[rounds[0]].together)
        }


def _ended(runs: Mapping[int, Run]) -> dict[int, Run]:
    """Runs that no signal ended."""
    return {number: run for number, run in runs.items() if not run.outcome.signal}


def _litter_fault(run: Run) -> str:
    """Reason why the run's heap was not littered, or not in a known way; empty where none was to be."""
    if run.laid is None:
        return ""
    if run.laid.failure:
        return f"it ran on a clean heap: {run.laid.failure}"
    if run.laid.overwritten:
        return "the program overwrote what its littering reported, so it cannot be subtracted"
    if not run.laid.threads:
        return "nothing was littered: the program did not load what is preloaded"
    return ""


def _value(metric: Metric, run: Run) -> float:
    """A metric of a run; of memory, what the program came to need beyond its littered heap."""
    value = metric.of(run.outcome)
    if metric.name == "peak_resident" and run.laid is not None:
        return max(value - run.laid.resident, metric.quantum)
    return value
