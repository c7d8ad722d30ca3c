"""From samples to drag.

Objects were drawn by a Poisson process over bytes, so that one of `size` bytes was drawn with the
probability p = 1 - exp(-size / period); weighted by 1 / p the samples stand for all objects (Horvitz and
Thompson). Drag is the ratio of two such sums: size times life, and size times the estimate of last access
minus birth. Its variance is that of a ratio of sums over a Poisson sample, linearised (Särndal, Swensson and
Wretman, "Model Assisted Survey Sampling", 1992, 5.6), and the noise of the looks beside it.
"""

import math
from collections.abc import Sequence
from itertools import accumulate

from reap.analysis.drag_sample_records import SampledDrag, SampledProcess
from reap.records import Estimate
from reap.trace.drag_sample_records import DragSample, DragSamples

_NORMAL = 1.96
_FEWEST = 30
"""Samples below which no interval is given."""
_RULES = 0.1
"""Share of an area that one sample may have before it is said to rule it."""
_PROBLEMS = {
    "no memory": "no memory or address space for samples was to be had: nothing was sampled",
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
    weighted = [(_weight(each), each, (each.death or file.clock) - each.birth) for each in file.samples]
    live = sum(weight * sample.size * life for weight, sample, life in weighted)
    needed = sum(weight * sample.size * sample.used for weight, sample, _ in weighted)
    told = live > 0 and needed > 0 and len(weighted) >= _FEWEST
    largest = max((weight * sample.size * life for weight, sample, life in weighted), default=0.0)
    largest_needed = max((weight * sample.size * sample.used for weight, sample, _ in weighted), default=0.0)
    peak, peak_needed = _peaks(file)
    return SampledProcess(
        pid=file.pid,
        program=file.program,
        allocated=file.clock,
        samples=len(weighted),
        drag=_estimate(weighted, live, needed) if told else None,
        few=not told or largest > _RULES * live or largest_needed > _RULES * needed,
        largest=largest / live if live else 0.0,
        peak=peak,
        peak_ratio=peak / peak_needed if told and peak_needed > 0 else None,
        engine_seconds=file.seconds,
        notes=_notes(file, told=told),
    )


def _weight(sample: DragSample) -> float:
    return -1 / math.expm1(-sample.size / sample.period)


def _estimate(weighted: list[tuple[float, DragSample, int]], live: float, needed: float) -> Estimate:
    drag = live / needed
    variance = 0.0
    for weight, sample, life in weighted:
        residual = sample.size * (life - drag * sample.used)
        variance += weight * (weight - 1) * residual**2
        variance += weight * (drag * sample.size) ** 2 * sample.used_variance
    reach = _NORMAL * math.sqrt(variance) / live
    low = max(drag * math.exp(-reach), min(1.0, drag))  # no object is used longer than it lives
    return Estimate(value=drag, low=low, high=drag * math.exp(reach))


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
