"""Times every setup over every allocator: an experiment each, a round of each after the other.

So that a setup can be compared with another (a speedup, a locality), its rounds are made beside the other's.
A quick study has as much to do in a run as the machine allows; a full one goes on until its intervals are
narrow.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

import msgspec

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import (
    MOST_ROUNDS,
    Allocator,
    Comparison,
    Conditions,
    Folder,
    InterruptedRunError,
    Listener,
    Outcome,
    ReapError,
    Run,
    Runner,
    Spec,
    Workload,
    read_runs,
    specify,
    statistics,
    units,
)
from reap.api import comparison as compare
from reap_studies.study import forecast, measuring, pacing
from reap_studies.study.allocators import scales
from reap_studies.study.allocators.records import Series, Timed
from reap_studies.study.allocators.setups import Setup
from reap_studies.study.measuring import ROUNDS
from reap_studies.study.records import Mode
from reap_studies.workloads import card, preparation

LIMIT = 60.0
"""Seconds that a run of a quick study may take; a full one's may take ten times as long."""

_LINES = 6
"""That the program says of its times: five phases and the whole."""


def measure(
    place: Path, setups: Sequence[Setup], allocators: Sequence[Allocator], mode: Mode, listener: Listener
) -> list[Timed]:
    """Runs what is left of every setup. Throws InterruptedRunError; what else goes wrong excludes a setup."""
    amounts = scales.scales(place, setups, len(allocators), mode, listener)
    lines = [_Line(place / each.name, each, amounts[each.name], allocators, mode) for each in setups]
    for number in range(1, ROUNDS[mode] + 1):
        listener.say(f"round {number} of {ROUNDS[mode]}")
        begun = time.monotonic()
        for line in lines:
            line.advance(number, listener)
        if mode == "full" and number == 2:  # the first has the warm-ups, too
            forecast.rest(time.monotonic() - begun, ROUNDS[mode] - number, listener)
    rounds = ROUNDS[mode]
    while (more := further(lines, rounds, mode, listener)) > rounds:
        open_ones = [line for line in lines if mode == "quick" or line.widest() > pacing.NARROW]
        for number in range(rounds + 1, more + 1):
            for line in open_ones:
                line.advance(number, listener)
        rounds = more
    return [line.result() for line in lines]


class Paced(Protocol):
    """What says how long its rounds took, and how sharp its figures are."""

    def spent(self) -> float:
        """Seconds of all runs until now."""
        ...

    def widest(self) -> float:
        """The width of the widest interval, as a share of its ratio."""
        ...


class _Line:
    """One setup's experiment."""

    def __init__(
        self, place: Path, setup: Setup, scale: int, allocators: Sequence[Allocator], mode: Mode
    ) -> None:
        self.place = place
        self.setup = setup
        self.described = card.load(setup.workload)
        self.scale = scale
        self._allocators = [each for each in allocators if not setup.only or each.name in setup.only]
        self._mode = mode
        self.excluded = measuring.lacking(self.described)
        if len(self._allocators) < 2:
            self.excluded = f"it needs {' and '.join(setup.only) or 'another allocator'} to be installed"

    def advance(self, rounds: int, listener: Listener) -> None:
        """Makes so many rounds of it; what goes wrong leaves it out from there on."""
        if self.excluded:
            return
        try:
            if not (self.place / "experiment.json").is_file():
                Folder.create(self.place, self._spec()).close()
            with Folder.resume(self.place) as folder:
                Runner(folder, _Quiet(listener, self.setup.name), rounds=rounds).run()
        except InterruptedRunError:
            raise
        except ReapError as error:
            self.excluded = error.what

    def spent(self) -> float:
        """Seconds that its runs took."""
        return 0.0 if self.excluded else sum(run.seconds for run in self._runs())

    def widest(self) -> float:
        """How wide the widest interval of a running time is that is compared with the baseline's.

        Of one thread that is CPU time, as conclusions take it.
        """
        if self.excluded:
            return 0.0
        first, *others = _series(self._runs(), [each.name for each in self._allocators], {})
        widths = [0.0]
        for each in others:
            taken = (each.wall, first.wall) if self.setup.several else (each.cpu, first.cpu)
            pairs = [one / base for one, base in zip(*taken, strict=False) if base]
            if len(pairs) >= statistics.LEAST_ROUNDS:
                ratio = statistics.interval(pairs)
                widths.append((ratio.high - ratio.low) / ratio.value)
        return max(widths)

    def result(self) -> Timed:
        """What came of it."""
        known = Timed(
            name=self.setup.name,
            card=self.described,
            scale=self.scale,
            threads=self.setup.threads,
            evaluations=self.setup.evaluations,
            excluded=self.excluded,
        )
        if self.excluded:
            return known
        with Folder.resume(self.place) as folder:
            drawn = compare.compare(folder, Listener())
            runs = list(folder.runs)
        problems = _problems(drawn)
        names = [each.name for each in self._allocators]
        (again,) = _series(runs, [DEFAULT], {}, control=True)
        return msgspec.structs.replace(
            known, series=_series(runs, names, problems), again=again, notes=drawn.notes
        )

    def _runs(self) -> list[Run]:
        runs, _ = read_runs(self.place / "runs.jsonl")
        return runs

    def _spec(self) -> Spec:
        ready = preparation.prepare(self.described.name, scale=self.scale)
        return specify(
            [*ready.argv, *self.setup.words],
            list(self._allocators),
            workload=Workload(
                name=self.described.name,
                directory=ready.directory,
                environment={**ready.environment, **self.setup.environment},
            ),
            # One round, and then as many as are asked for.
            conditions=Conditions(runs=1, timeout=LIMIT if self._mode == "quick" else 10 * LIMIT),
        )


class _Quiet(Listener):
    """Passes on how far it is, and not that another round begins."""

    def __init__(self, listener: Listener, name: str) -> None:
        self._listener = listener
        self._name = name

    def progress(self, done: int, total: int, label: str) -> None:
        self._listener.progress(done, total, f"{self._name}, {label}" if label else "")


def _problems(drawn: Comparison) -> dict[str, str]:
    return {side.allocator: side.problem for side in drawn.sides if side.problem}


def _series(
    runs: Sequence[Run], names: Sequence[str], problems: dict[str, str], *, control: bool = False
) -> list[Series]:
    found = []
    for name in names:
        own = [
            run
            for run in runs
            if not run.warmup and run.cell.allocator == name and run.cell.control == control
        ]
        outcomes = [run.outcome for run in sorted(own, key=lambda run: run.cell.repeat)]
        times = [_times(each) for each in outcomes]
        found.append(
            Series(
                allocator=name,
                wall=[each.wall for each in times],
                cpu=[each.cpu for each in times],
                resident=[float(each.peak_resident) for each in outcomes],
                phases=[each.phases for each in times if each.phases],
                problem=problems.get(name, ""),
            )
        )
    return found


class _Times(NamedTuple):
    """Of one run, in seconds."""

    wall: float
    cpu: float
    phases: list[tuple[float, float, float]]


def _times(outcome: Outcome) -> _Times:
    """What the program says of its threads and phases; of one that says something else, what the kernel says.

    A quick run is of some milliseconds, and a process takes as long to start, over any allocator.
    """
    lines = outcome.stderr_tail.splitlines()[-_LINES:]  # allocators, too, may have said something
    try:
        *phases, (wall, cpu) = [[float(word) for word in line.split()] for line in lines]
        return _Times(wall, cpu, [(making, evaluating, freeing) for making, evaluating, freeing in phases])
    except ValueError:
        return _Times(outcome.wall_ns / 1e9, outcome.cpu_ns / 1e9, [])


def further(lines: Sequence[Paced], rounds: int, mode: Mode, listener: Listener) -> int:
    """How many rounds there are to be in all, after so many."""
    if rounds >= MOST_ROUNDS:
        return rounds
    if mode == "full":
        widest = max((line.widest() for line in lines), default=0.0)
        if widest <= pacing.NARROW:
            return rounds
        listener.say(f"the widest interval is {units.percent(widest)} wide: {pacing.STEP} more rounds")
        return min(rounds + pacing.STEP, MOST_ROUNDS)
    spent = sum(line.spent() for line in lines)
    a_round = spent / (rounds + 1)  # the warm-up was one, too
    more = rounds + int(max(0.0, scales.QUICK_SECONDS - spent) / max(a_round, 1e-3))
    if more > rounds:
        listener.say(f"there is time for {units.number(min(more, MOST_ROUNDS), 'round')}")
    return min(more, MOST_ROUNDS)
