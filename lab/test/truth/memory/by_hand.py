"""Measures settled memory by hand, without Reap: polls a run, and takes the median of its second half."""

import os
import statistics
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

INTERVAL = 0.05
"""Seconds between two polls."""


def settled(words: Sequence[str], environment: Mapping[str, str]) -> float:
    """Return the settled memory of a command in MB: PSS of all its processes, the median of its second half.

    Polls are weighted by the time until the next. Those of the last tenth of a second, where a process may be
    ending, are dropped. Throws CalledProcessError where the command fails.
    """
    process = subprocess.Popen(
        words,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    begin = time.monotonic()
    polled: list[tuple[float, float]] = []
    while process.poll() is None:
        megabytes = sum(map(_proportional, _family(process.pid))) / 1e6
        polled.append((time.monotonic() - begin, megabytes))
        time.sleep(INTERVAL)
    end = time.monotonic() - begin
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, words)
    return median_of_second_half(polled, end)


def median_of_second_half(polled: Sequence[tuple[float, float]], end: float) -> float:
    """Return the median of what was polled after half of the run, by (seconds, MB), weighted by time."""
    steady = [(at, megabytes) for at, megabytes in polled if end / 2 <= at <= end - 2 * INTERVAL]
    until = [*(at for at, _ in steady[1:]), end]
    weighted = [
        megabytes
        for (at, megabytes), then in zip(steady, until, strict=True)
        for _ in range(max(1, round((then - at) * 1000)))
    ]
    return statistics.median(weighted)


def _family(pid: int) -> list[int]:
    found = [pid]
    for each in found:
        for children in Path(f"/proc/{each}/task").glob("*/children"):
            try:
                found += map(int, children.read_text().split())
            except OSError:
                continue
    return found


def _proportional(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0  # it has ended
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))
