"""CPU times of commands that run at the same time on one core, as `reap.launch.together` makes them.

Where one ends first, the rest of the other is not paired: give them about as much to do.
"""

import math
import os
import random
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.special import stdtrit

from reap.launch import program as programs
from reap.launch import together
from reap.launch.records import Launch

Command = Sequence[str]


class Ratios(NamedTuple):
    """How a command's CPU time compares with that of another: a logarithm of the ratio for each pair."""

    logs: list[float]

    @property
    def mean(self) -> float:
        """Of the ratios, geometric."""
        return math.exp(statistics.fmean(self.logs))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The confidence interval of the mean ratio, by Student's t. At least two pairs are needed."""
        error = statistics.stdev(self.logs) / math.sqrt(len(self.logs))
        half = float(stdtrit(len(self.logs) - 1, (1 + level) / 2)) * error
        middle = statistics.fmean(self.logs)
        return math.exp(middle - half), math.exp(middle + half)


def cpu_seconds(*commands: Command, environments: Sequence[Mapping[str, str] | None] = ()) -> list[float]:
    """Runs the commands together on one core; the CPU time of each, with the children that it waited for.

    They have no input, and what they print is dropped. An environment is what a command has beside this
    process's own. Throws CalledProcessError where one fails.
    """
    given = [*environments, *[None] * (len(commands) - len(environments))]
    launches = []
    for command, environment in zip(commands, given, strict=True):
        words = [str(word) for word in command]
        launches.append(
            Launch(argv=words, program=programs.resolve(words).path, environment=dict(environment or {}))
        )
    outcomes = together.run(launches, random.choice(sorted(os.sched_getaffinity(0))))
    for command, outcome in zip(commands, outcomes, strict=True):
        if outcome.status:
            raise subprocess.CalledProcessError(outcome.status, command)
    return [outcome.cpu_ns / 1e9 for outcome in outcomes]


def ratios(
    baseline: Command,
    candidate: Command,
    pairs: int,
    environments: Sequence[Mapping[str, str] | None] = (),
) -> Ratios:
    """The candidate's CPU time over that of the baseline, in so many pairs that run together."""
    logs = []
    for _ in range(pairs):
        one, other = cpu_seconds(baseline, candidate, environments=environments)
        logs.append(math.log(other / one))
    return Ratios(logs)
