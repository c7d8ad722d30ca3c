"""From samples to drag.

Objects were drawn by a Poisson process over bytes, so that one of `size` bytes was drawn with the
probability p = 1 - exp(-size / period); weighted by 1 / p the samples stand for all objects (Horvitz and
Thompson). Drag is the ratio of two such sums: size times life, and size times the estimate of last access
minus birth. Its variance is that of a ratio of sums over a Poisson sample, linearised (Särndal, Swensson and
Wretman, "Model Assisted Survey Sampling", 1992, 5.6), and the noise of the looks beside it; where few samples
have most of it, the variance itself is uncertain, and Student's t is as much wider as its degrees of freedom
say (Satterthwaite, 1946).
"""

import math
from collections.abc import Sequence
from itertools import accumulate

from scipy.special import stdtrit

from reap.analysis.drag_sample_records import SampledDrag, SampledProcess
from reap.records import Estimate
from reap.trace.drag_sample_records import DragSample, DragSamples

_FEWEST = 30
"""Samples below which no interval is given."""
_FEW = 6.0
"""Degrees of freedom of the interval below which a few objects rule."""
_RULES = 0.1
"""Share of an area above which one sample rules it."""
_PROBLEMS = {
    "no memory": "no memory or address space for samples was to be had, or the program limited (RLIMIT_AS) "
    "or locked (mlockall) what it has: nothing was sampled from then on",
    "no pagemap": "/proc/self/pagemap could not be read, so that no access was seen from then on",
    "full": "there was no room for more samples: what was allocated later is missing",
}


def profile(
    files: Sequence[DragSamples], command: list[str], *, status: int, notes: Sequence[str] = ()
) -> SampledDrag:
    """What the files of a run say, by process."""
    processes = [process(each) for each in files if each.clock > 0]
    return SampledDrag(
        command=command,
        engine="sample",
        status=status,
        processes=sorted(processes, key=lambda each: -each.allocated),
        notes=list(notes),
    )


def process(file: DragSamples) -> SampledProcess:
    """What one file says. Costs a sort of its samples."""
    drawn = [_Drawn(each, file.clock) for each in file.samples]
    live = sum(each.live for each in drawn)
    needed = sum(each.needed for each in drawn)
    told = live > 0 and needed > 0 and len(drawn) >= _FEWEST
    largest = max((each.live for each in drawn), default=0.0)
    largest_needed = max((each.needed for each in drawn), default=0.0)
    estimate, freedom = _estimate(drawn, live, needed) if told else (None, 0.0)
    peak, peak_needed = _peaks(file)
    return SampledProcess(
        pid=file.pid,
        program=file.program,
        allocated=file.clock,
        samples=len(drawn),
        drag=estimate,
        few=freedom < _FEW or largest > _RULES * live or largest_needed > _RULES * needed,
        largest=largest / live if live else 0.0,
        peak=peak,
        peak_ratio=peak / peak_needed if told and peak_needed > 0 else None,
        engine_seconds=file.seconds,
        notes=_notes(file, told=told),
    )


class _Drawn:
    """A sample and what it stands for. An object takes part in the step of its own allocation, too."""

    def __init__(self, sample: DragSample, clock: int) -> None:
        self.weight = _weight(sample)
        self.size = sample.size
        self.life = (sample.death or clock) - sample.birth + sample.size
        self.used = sample.used + sample.size
        self.used_variance = _variance_of_used(sample)
        self.live = self.weight * self.size * self.life
        self.needed = self.weight * self.size * self.used


def _weight(sample: DragSample) -> float:
    return -1 / math.expm1(-sample.size / sample.period)


def _variance_of_used(sample: DragSample) -> float:
    """Of `used`, which is a number of intervals; from the sums of these and of their squares.

    For one interval h it is h f (h - h f), where f is the part of an interval by which the truth exceeds a
    whole number of them: h^2 / 6 on average. What is used for less than an interval has a look in it with the
    probability f, so that h^2 a look is not too little.
    """
    if not sample.used > 0:
        return 0.0
    interval = sample.used_squares / sample.used
    return interval**2 / (6 if sample.used > 1.5 * interval else 1)


def _estimate(drawn: list[_Drawn], live: float, needed: float) -> tuple[Estimate, float]:
    """Drag, and the degrees of freedom of its interval."""
    drag = live / needed
    parts = [
        each.weight * (each.weight - 1) * (each.size * (each.life - drag * each.used)) ** 2
        + each.weight * (drag * each.size) ** 2 * each.used_variance
        for each in drawn
    ]
    variance = sum(parts)
    fourth = sum(part**2 for part in parts)
    freedom = 2 * variance**2 / fourth if fourth > 0 else math.inf
    reach = float(stdtrit(min(freedom, 1e6), 0.975)) * math.sqrt(variance) / live
    low = max(drag * math.exp(-reach), min(1.0, drag))  # no object is used longer than it lives
    return Estimate(value=drag, low=low, high=drag * math.exp(min(reach, 100.0))), freedom


def _peaks(file: DragSamples) -> tuple[float, float]:
    """Most bytes in use, and most bytes needed, by the estimates of each sample."""
    lives: list[tuple[float, float]] = []
    uses: list[tuple[float, float]] = []
    for sample in file.samples:
        bytes_stood_for = _weight(sample) * sample.size
        lives += [(sample.birth, bytes_stood_for), (sample.death or file.clock, -bytes_stood_for)]
        uses += [(sample.birth, bytes_stood_for), (sample.birth + sample.used, -bytes_stood_for)]
    return _most(lives), _most(uses)


def _most(steps: list[tuple[float, float]]) -> float:
    return max(accumulate(step for _, step in sorted(steps)), default=0.0)


def _notes(file: DragSamples, *, told: bool) -> list[str]:
    said = [_PROBLEMS[file.problem]] if file.problem else []
    if not file.ended and not file.problem:
        said.append("it did not come to its own end: what its last objects were used for is not known")
    if not told and not file.problem:
        said.append(f"{len(file.samples)} samples do not tell: let it run longer, or use --engine exact")
    return said
