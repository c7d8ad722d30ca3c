"""Figure 3 and Table 4: what the benchmark program asks the system for as it goes on, under each allocator.

The program writes down at every thousandth call of malloc or free what lives and what is resident; strace
sees these writes among the calls that ask for memory, so that what had been asked for by then is exact,
whatever the allocator. It is counted and not timed; but what threads do to each other differs from run to
run, and much hangs on it: there are some runs of each, one allocator's after another's.
"""

import os
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

import msgspec

from reap.api import Allocator, ReapError, syscalls
from reap_studies.study import kept, measuring
from reap_studies.study.allocators.records import Consumption, Summary
from reap_studies.study.allocators.setups import PROGRAM
from reap_studies.study.high_water import at_marks
from reap_studies.study.records import Consumed, Mode
from reap_studies.workloads import card, preparation
from reap_studies.workloads import run as workload

SCALES: dict[Mode, int] = {"quick": 200, "full": 1000}
"""So much that what allocators begin with does not count: at most 25 and 125 MB are in use at a time."""
RUNS: dict[Mode, int] = {"quick": 3, "full": 5}
"""Of each allocator."""
PHASES = 5
_LINE = 64
"""Bytes of a line of the program's log, as its memory.h has it."""


def take(place: Path, allocators: Sequence[Allocator], mode: Mode, threads: int) -> Consumed:
    """Runs the program some times under each allocator, unless `place` has what came of it.

    Whatever goes wrong with one is said in its place. Throws ReapError if what was found cannot be kept.
    """
    described = card.load(PROGRAM)
    scale, version = SCALES[mode], measuring.version_of(described)
    wanted = Consumed(card=described, scale=scale, version=version, threads=threads)
    found = kept.read(place, wanted)
    known = found if found is not None and found.threads == threads else wanted
    if why := measuring.lacking(described):
        return msgspec.structs.replace(known, excluded=why)
    failed: list[Consumption] = []
    for count in range(1, RUNS[mode] + 1):
        for allocator in allocators:
            done = sum(each.allocator == allocator.name for each in known.summaries)
            if done >= count or any(each.allocator == allocator.name for each in failed):
                continue
            run = _run(scale, threads, allocator)
            if run.problem:
                failed.append(run)  # and it is tried again the next time
                continue
            known = msgspec.structs.replace(
                known,
                runs=[*known.runs, run] if count == 1 else known.runs,
                summaries=[*known.summaries, summary(run)],
            )
            kept.write(place, known)
    return msgspec.structs.replace(known, runs=[*known.runs, *failed])


def _run(scale: int, threads: int, allocator: Allocator) -> Consumption:
    try:
        return _logged(scale, threads, allocator)
    except ReapError as error:
        return Consumption(allocator=allocator.name, problem=error.what)


def _logged(scale: int, threads: int, allocator: Allocator) -> Consumption:
    launch = workload.launch_of(preparation.prepare(PROGRAM, scale=scale))
    with tempfile.TemporaryDirectory(prefix="reap-consumption-") as folder:
        log = Path(folder) / "log"
        words = ["--threads", str(threads), "--evaluations", "1", "--log", str(log)]
        launch = msgspec.structs.replace(launch, argv=[*launch.argv, *words], allocator=allocator.library)
        with syscalls.traced(launch, [*syscalls.SPACE, "pwrite64"]) as (outcome, lines):
            if outcome.status != 0:
                raise ReapError(f"{PROGRAM} ended with {outcome.status} under strace over {allocator.name}")
            asked = at_marks(lines, os.sysconf("SC_PAGE_SIZE"))
        said = [[int(word) for word in line.split()] for line in log.read_text().splitlines()]
    rows = [[*numbers, asked[place * _LINE]] for place, numbers in enumerate(said) if place * _LINE in asked]
    if len(rows) < PHASES:
        raise ReapError(f"{PROGRAM} was seen to write {len(rows)} lines of its log over {allocator.name}")
    calls, phases, live, resident, counted = (list(column) for column in zip(*sorted(rows), strict=True))
    return Consumption(
        allocator=allocator.name, calls=calls, phases=phases, live=live, asked=counted, resident=resident
    )


def summary(run: Consumption) -> Summary:
    """What Table 4 and the text say of it."""
    most = max(run.asked)
    return Summary(
        allocator=run.allocator,
        average=fmean(run.asked),
        maximum=most,
        live=fmean(run.live),
        resident=fmean(run.resident),
        last=run.asked[-1] / most,
        resident_last=run.resident[-1] / max(1, *run.resident),
        peak_at=run.calls[run.asked.index(most)] / run.calls[-1],
        falls=_falls(run, run.asked),
        resident_falls=_falls(run, run.resident),
        fragmentation=[
            fmean(run.asked[at] - run.live[at] for at in places) for places in _phases(run) if places
        ],
    )


def _phases(run: Consumption) -> list[list[int]]:
    """The places in its lists, by phase."""
    return [[at for at, phase in enumerate(run.phases) if phase == number] for number in range(PHASES)]


def _falls(run: Consumption, values: Sequence[int]) -> float:
    """From the lower of two phases' peaks to what was least between them, as a share of that peak."""
    peaks = [max(places, key=lambda at: values[at]) for places in _phases(run) if places]
    falls = [
        1 - min(values[one : other + 1]) / max(1, min(values[one], values[other]))
        for one, other in pairwise(peaks)
    ]
    return fmean(falls) if falls else 0.0
