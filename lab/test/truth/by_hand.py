"""Measures gains by hand, without Reap's engine: interleaved runs, CPU time from wait4, ratios of pairs."""

import math
import os
import random
import statistics
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Arm:
    """A command and what is added to its environment."""

    words: Sequence[str]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Gain:
    """The part of CPU time that an arm saves: the median of pairs, and its 95 % confidence interval.

    Negative where the arm takes more.
    """

    gain: float
    low: float
    high: float


def cpu_seconds(arm: Arm) -> float:
    """CPU time of one run with all its children, from wait4. Throws CalledProcessError where it fails."""
    process = subprocess.Popen(
        arm.words,
        env={**os.environ, **arm.environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arm.words)
    return usage.ru_utime + usage.ru_stime


def gains(baseline: Arm, arms: Mapping[str, Arm], rounds: int, seed: int = 1) -> dict[str, Gain]:
    """Return what each arm saves. A round runs every arm once, in random order.

    An arm that fails is left out of the result. Takes
    `rounds` * (1 + arms) runs. With fewer than six rounds the interval is the range of the pairs.
    """
    order = random.Random(seed)
    everything = {"": baseline, **arms}
    seconds: dict[str, list[float]] = {name: [] for name in everything}
    for _ in range(rounds):
        for name in order.sample(list(everything), len(everything)):
            if name in seconds:
                try:
                    seconds[name].append(cpu_seconds(everything[name]))
                except subprocess.CalledProcessError:
                    if not name:
                        raise
                    del seconds[name]
    whole = seconds.pop("")
    return {name: of_pairs(whole, taken) for name, taken in seconds.items()}


def of_pairs(baseline: Sequence[float], candidate: Sequence[float]) -> Gain:
    """Return the median gain of pairs, and its 95 % CI from order statistics."""
    found = sorted(1 - taken / whole for whole, taken in zip(baseline, candidate, strict=True))
    below = _rank(len(found))
    return Gain(statistics.median(found), found[below], found[-1 - below])


def _rank(count: int) -> int:
    """Number of the `count` sorted values outside a 95 % CI of the median, on each side."""
    outside, below = 0.0, 0
    while (outside := outside + math.comb(count, below) / 2**count) <= 0.025:
        below += 1
    return max(below - 1, 0)
