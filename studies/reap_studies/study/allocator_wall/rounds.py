"""Runs what the study of the allocator wall asks, round by round, and keeps every answer as it comes.

A kill loses the run that was going on. What fails is a sample with its reason; it is not kept, and so is
tried again when the study goes on.
"""

import math
import os
import random
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from io import FileIO
from pathlib import Path

import msgspec

from reap.api import (
    ExitCode,
    InterruptedRunError,
    Launch,
    Listener,
    Outcome,
    ReapError,
    append_line,
    read_lines,
    spawn,
    units,
)
from reap.api import recording_profile as profile
from reap.api import recording_read as read
from reap.api import recording_record as record
from reap_studies.study import forecast
from reap_studies.study.allocator_wall import latency
from reap_studies.study.allocator_wall.asks import Ask
from reap_studies.study.allocator_wall.python import REQUESTS
from reap_studies.study.allocator_wall.records import Sample

LOG = "samples.jsonl"
LEAST_ROUNDS = 3
"""So many at least, however slow the machine is."""


class Bank:
    """The samples of a study, open to be added to."""

    def __init__(self, folder: Path) -> None:
        """Throws ReapError if what is kept there is damaged or cannot be opened."""
        path = folder / LOG
        try:
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._log = FileIO(descriptor, "r+b")
            self.samples, whole = read_lines(path, Sample)
            self._log.truncate(whole)
            self._log.seek(whole)
        except OSError as error:
            raise ReapError(f"{path} cannot be opened: {error.strerror}", "check its permissions") from error
        self._path = path
        self._known = {_key(each) for each in self.samples}

    def has(self, ask: Ask, number: int) -> bool:
        """Whether the round's run was made."""
        place = ask.place
        return (place.part, place.arm, place.setting, number) in self._known

    def add(self, sample: Sample) -> None:
        """Keeps it, if it has values. Throws ReapError of a full disk."""
        self.samples.append(sample)
        if sample.problem:
            return
        self._known.add(_key(sample))
        try:
            append_line(self._log, sample)
        except OSError as error:
            raise ReapError(
                f"{self._path} cannot be written: {error.strerror}", "make room, and resume"
            ) from error

    def close(self) -> None:
        """Lets go of the file."""
        self._log.close()


def _key(sample: Sample) -> tuple[str, str, str, int]:
    return sample.part, sample.arm, sample.setting, sample.round


def rounds(bank: Bank, asks: Sequence[Ask], count: int, until: float, label: str, listener: Listener) -> None:
    """Runs what is left of so many rounds of all these, each round in an order of its own.

    After `until`, on the monotonic clock, no other round is begun once there are LEAST_ROUNDS. Throws
    InterruptedRunError on Ctrl-C, and ReapError of a full disk.
    """
    told = until < math.inf or all(ask.rounds for ask in asks)
    try:
        for number in range(count):
            begun = time.monotonic()
            if number >= LEAST_ROUNDS and time.monotonic() > until:
                listener.say(f"{label}: {units.number(number, 'round')}; there is no time for more")
                return
            left = [
                ask for ask in asks if not bank.has(ask, number) and (not ask.rounds or number < ask.rounds)
            ]
            # Of (label, round), not of one running generator: round 7 is the same after a resume.
            random.Random(f"{label}/{number}").shuffle(left)  # noqa: S311 - no secret
            _together(bank, [ask for ask in left if ask.sleeps], number)
            awake = [ask for ask in left if not ask.sleeps]
            for done, ask in enumerate(awake):
                listener.progress(
                    number * len(asks) + done,
                    count * len(asks),
                    f"{label}: {ask.place.arm}, {ask.place.setting}",
                )
                bank.add(take(ask, number))
            if left and not told:
                forecast.rest(time.monotonic() - begun, count - number - 1, listener, label)
                told = True
    except KeyboardInterrupt:
        raise InterruptedRunError("stopped", "resume it", ExitCode.SIGNALLED + 2) from None


def _together(bank: Bank, asks: Sequence[Ask], number: int) -> None:
    """Those that sleep, side by side."""
    if asks:
        with ThreadPoolExecutor(len(asks)) as pool:
            for sample in pool.map(lambda ask: take(ask, number), asks):
                bank.add(sample)


def take(ask: Ask, number: int) -> Sample:
    """One run, or the two that one figure takes."""
    place = msgspec.structs.asdict(ask.place)
    try:
        if ask.reading == "counted":
            return Sample(**place, round=number, values={"allocations": _counted(ask)})
        if ask.reading == "named":
            return Sample(**place, round=number, values=_named(ask.launch))
        if ask.reading == "said":
            return Sample(**place, round=number, values=_values(spawn.run(ask.launch)))
        values, histogram = _tail(ask)
        return Sample(**place, round=number, values=values, histogram=histogram)
    except ReapError as error:
        return Sample(**place, round=number, problem=error.what)


def _values(outcome: Outcome) -> dict[str, float]:
    """What the program said in its last line, and what the kernel says of it."""
    if outcome.status != 0:
        why = "did not end in time" if outcome.timed_out else f"ended with {outcome.status}"
        raise ReapError(f"the program {why}: {outcome.stderr_tail.strip()[-300:]}")
    lines = outcome.stderr_tail.strip().splitlines()
    try:
        said = msgspec.json.decode(lines[-1] if lines else "", type=dict[str, float])
    except msgspec.MsgspecError as error:
        raise ReapError(f"the program said no figures: {outcome.stderr_tail.strip()[-300:]}") from error
    return {
        **said,
        "peak_resident": float(outcome.peak_resident),
        "minor_faults": float(outcome.minor_faults),
        "cpu_ns": float(outcome.cpu_ns),
    }


def _named(launch: Launch) -> dict[str, float]:
    """How often each word stands in the allocator's file."""
    try:
        text = Path(launch.allocator).read_bytes()
    except OSError as error:
        raise ReapError(f"{launch.allocator} cannot be read: {error.strerror}") from error
    return {word: float(text.count(word.encode())) for word in launch.argv}


def _tail(ask: Ask) -> tuple[dict[str, float], str]:
    with tempfile.TemporaryDirectory(prefix="reap-latency-") as folder:
        raw = Path(folder) / "raw"
        values = _values(spawn.run(ask.told("raw", raw)))
        percentiles, histogram = latency.read(raw)
    return {**values, **percentiles}, histogram


def _counted(ask: Ask) -> float:
    """Allocations of one request: what starting a program takes is in both runs, and goes out."""
    fewer, more = (_objects(ask.told("requests", requests)) for requests in (REQUESTS, 2 * REQUESTS))
    return (more - fewer) / REQUESTS


def _objects(launch: Launch) -> int:
    with tempfile.TemporaryDirectory(prefix="reap-counted-") as folder:
        path = Path(folder) / "counted.reap"
        outcome = record.record(launch, path, "triage")
        if outcome.status != 0:
            raise ReapError(f"the program ended with {outcome.status} while it was recorded")
        return profile(read.read(path), launch.argv).totals.total_objects
