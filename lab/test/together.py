"""Commands run at the same time on one core: what disturbs one of them disturbs the others as much.

CPU times of runs one after another vary by a tenth and more on a shared machine, since other processes, the
frequency and the host's caches change within tenths of seconds. Commands between which the kernel switches
every few milliseconds meet the same disturbance, so that the ratio of their CPU times varies by two or three
hundredths. Where one ends first, the rest of the other is not paired: give them about as much to do.
"""

import math
import os
import random
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scipy.special import stdtrit

Command = Sequence[str]

_HELD = 'echo; read -r _; exec "$@" </dev/null >/dev/null'
"""For a shell: prints a line when it is ready, waits until its input ends, and becomes the command."""


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

    All are started and held, then released at once. They have no input, and what they print is dropped. An
    environment is what a command has beside this process's own. Throws CalledProcessError where one fails.
    """
    own = os.sched_getaffinity(0)
    given = [*environments, *[None] * (len(commands) - len(environments))]
    ready, announce = os.pipe()
    barrier, release = os.pipe()
    held: list[tuple[int, subprocess.Popen[bytes]]] = []
    try:
        os.sched_setaffinity(0, {random.choice(sorted(own))})  # children inherit it
        for at in random.sample(range(len(commands)), len(commands)):
            process = subprocess.Popen(
                ["/bin/sh", "-c", _HELD, "sh", *map(str, commands[at])],
                stdin=barrier,
                stdout=announce,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **(given[at] or {})},
            )
            held.append((at, process))
        for _ in held:
            os.read(ready, 1)
    finally:
        os.sched_setaffinity(0, own)
        for descriptor in (ready, announce, barrier, release):
            os.close(descriptor)
    seconds = [0.0] * len(commands)
    failed: subprocess.CalledProcessError | None = None
    for at, process in held:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            failed = subprocess.CalledProcessError(process.returncode, commands[at])
        seconds[at] = usage.ru_utime + usage.ru_stime
    if failed:
        raise failed
    return seconds


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
