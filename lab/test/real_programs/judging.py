"""Whether a program does under a verb what it does alone."""

import functools
import re
from dataclasses import dataclass, field

import running
from comparing import Baseline, Seen
from entries import Entry

from reap.recording import read

ALONE = 2
"""Runs of a program alone, from which it is known what is equal in each."""
MORE_ALONE = 4
"""Further ones before a difference counts, for what varies seldom."""


@dataclass(frozen=True)
class Result:
    """An entry in one way."""

    name: str
    way: str
    key: str
    """Of the entry: with another one the result is out of date."""
    seconds: float
    number: int = 1
    """Of the run, where it is repeated."""
    differences: list[str] = field(default_factory=list)
    not_compared: list[str] = field(default_factory=list)
    by_valgrind: bool = False
    """Whether Valgrind without Reap changes the program in the same way."""
    objects: int | None = None
    """Allocations in the recording, of all processes."""
    said: str = ""
    """What the verb said at its end, where there are differences."""


class Alone:
    """The runs of a program alone; more are made when they are asked for."""

    def __init__(self, entry: Entry) -> None:
        self._entry = entry
        self._runs: list[Seen] = []
        self.seconds = 0.0

    def baseline(self, runs: int) -> Baseline:
        """What at least so many runs have in common. Throws RuntimeError where the program does not end."""
        while len(self._runs) < runs:
            ended = running.run(self._entry, "alone")
            if ended.timed_out:
                raise RuntimeError(f"{self._entry.name} does not end within {self._entry.limit} s alone")
            self._runs += ended.runs
            self.seconds = ended.seconds
        return Baseline(self._runs)


@functools.cache
def alone(entry: Entry) -> Alone:
    """The runs of an entry alone that this process has made."""
    return Alone(entry)


def judge(entry: Entry, way: str) -> Result:
    """Runs the entry in a way, and compares. A difference counts if it comes again, and never comes alone."""
    bare = alone(entry)
    baseline = bare.baseline(ALONE)
    if way == "alone":
        return Result(entry.name, way, entry.key, bare.seconds, not_compared=baseline.not_compared())
    ended = running.run(entry, way)
    skipped = 1 if entry.collector_logs and way == "wall" else 0
    found = _differences(baseline, ended, skipped)
    if found:
        baseline = bare.baseline(ALONE + MORE_ALONE)
        found = _differences(baseline, ended, skipped)
    if found and (again := _differences(baseline, running.run(entry, way), skipped)):
        found = [one for one in found if one in again] or found
    elif found:
        found = [f"once in two runs: {one}" for one in found]
    by_valgrind = False
    if found and way == "drag":
        alone_there = _differences(baseline, running.run(entry, "valgrind"), 0)
        by_valgrind = {_subject(one) for one in found} <= {_subject(one) for one in alone_there}
    return Result(
        entry.name,
        way,
        entry.key,
        ended.seconds,
        differences=found,
        not_compared=baseline.not_compared(),
        by_valgrind=by_valgrind,
        objects=_objects(ended),
        said=ended.said if found else "",
    )


def _differences(baseline: Baseline, ended: running.Ended, skipped: int) -> list[str]:
    """Those of all runs but the last `skipped`."""
    if ended.timed_out:
        return ["did not end in time"]
    if not ended.runs:
        return ["was not run"]
    found = [one for run in ended.runs[: len(ended.runs) - skipped] for one in baseline.differences(run)]
    return list(dict.fromkeys(found))


def _subject(difference: str) -> str:
    """What differs: the status, a stream or a file. The texts hold numbers that are others each time."""
    return re.split(r"[,:]| \d", difference)[0]


def _objects(ended: running.Ended) -> int | None:
    if ended.recording is None:
        return None
    recording = read.read(ended.recording)
    return sum(image.objects for image in recording.images())
