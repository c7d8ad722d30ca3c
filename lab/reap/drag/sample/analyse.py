"""From samples to drag.

One byte of each stratum of the bytes allocated was drawn, and with it its object, which stands for the bytes
of the stratum: weighted by these over its own bytes the samples stand for all objects (Hansen and Hurwitz,
1943). Drag is the ratio of two such sums: size times life, and size times the estimate of last access minus
birth. Its variance is that of a ratio, linearised, and taken from the differences between samples that were
drawn one after another, since how distant strata differ adds nothing to it; so it is too large rather than
too small (Särndal, Swensson and Wretman, "Model Assisted Survey Sampling", 1992, 3.7 and
5.6). The noise of the looks stands beside it. Where few samples have most of it, the variance itself is
uncertain, and Student's t is as much wider as its degrees of freedom say (Satterthwaite, 1946).
"""

import math
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise

from reap.base import units
from reap.base.records import Estimate
from reap.drag.sample import curve, sites
from reap.drag.sample.records import SampledDrag, SampledProcess
from reap.drag.sample.samples import DragSamples
from reap.drag.sample.weights import Drawn, quantile
from reap.recording.analyse.frames import Frame

Frames = Callable[[DragSamples, tuple[int, ...]], list[Frame]]

_FEWEST = 30
"""Samples below which no interval is given."""
_FEW = 6.0
"""Degrees of freedom of the interval below which a few objects rule."""
_RULES = 0.1
"""Share of an area above which one sample rules it."""
_ENOUGH = 0.1
"""How far the interval may reach, as a part of drag, before more samples are advised."""
_PROBLEMS = {
    "no memory": "no memory or address space for samples was to be had, or the program limited (RLIMIT_AS) "
    "or locked (mlockall) what it has: nothing was sampled from then on",
    "no pagemap": "/proc/self/pagemap could not be read, so that no access was seen from then on",
    "full": "there was no space for more samples: what was allocated later is missing",
}


def profile(
    files: Sequence[DragSamples],
    command: list[str],
    frames: Frames,
    *,
    status: int,
    notes: Sequence[str] = (),
) -> SampledDrag:
    """Drag by process, from the files of a run; `frames` names the frames of a sample's stack."""
    processes = [process(each, frames) for each in files if each.clock > 0]
    return SampledDrag(
        command=command,
        engine="sample",
        status=status,
        processes=sorted(processes, key=lambda each: -each.allocated),
        notes=list(notes),
    )


def process(file: DragSamples, frames: Frames | None = None) -> SampledProcess:
    """Drag of one file; by sites, too, where `frames` names their frames. Costs a sort of its samples."""
    drawn = [Drawn(each, file.clock) for each in file.samples]
    live = sum(each.live for each in drawn)
    needed = sum(each.needed for each in drawn)
    told = live > 0 and needed > 0 and len(drawn) >= _FEWEST
    largest = max((each.live for each in drawn), default=0.0)
    largest_needed = max((each.needed for each in drawn), default=0.0)
    estimate, freedom = _estimate(drawn, live, needed) if told else (None, 0.0)
    few = freedom < _FEW or largest > _RULES * live or largest_needed > _RULES * needed
    peak, peak_needed = _peaks(file)
    return SampledProcess(
        pid=file.pid,
        program=file.program,
        allocated=file.clock,
        samples=len(drawn),
        drag=estimate,
        few=few,
        largest=largest / live if live else 0.0,
        peak=min(peak, file.clock),  # a stratum stands for its bytes before they are all allocated
        peak_ratio=peak / peak_needed if told and peak_needed > 0 else None,
        engine_seconds=file.seconds,
        sites=sites.sites(drawn, lambda stack: frames(file, stack)) if told and frames else [],
        curve=curve.curve(file) if told else [],
        notes=_notes(file, told=told) + ([] if estimate is None or few else _more(file, estimate)),
    )


def _more(file: DragSamples, estimate: Estimate) -> list[str]:
    """Advice on how many more samples a 95 % CI of 10 % to each side takes; none where it is that narrow."""
    reach = estimate.high / estimate.value - 1
    if reach <= _ENOUGH:
        return []
    times = (reach / _ENOUGH) ** 2
    period = max(1, int(file.clock / len(file.samples) / times))
    said = (
        f"the interval reaches {units.percent(reach)} far: for 10 % it takes {times:.1f} times as many "
        "samples, as with"
    )
    return [f"{said} --period {period}, which may cost as much more"]


def _estimate(drawn: list[Drawn], live: float, needed: float) -> tuple[Estimate, float]:
    """Drag, and the degrees of freedom of its interval."""
    drag = live / needed
    looks = [drag**2 * each.looks for each in drawn]
    parts = [
        each.left_out * _residual(each, drag) ** 2 + look for each, look in zip(drawn, looks, strict=True)
    ]
    variance = _of_drawing([each for each in drawn if each.weight > 1], drag) + sum(looks)
    fourth = sum(part**2 for part in parts)
    freedom = 2 * sum(parts) ** 2 / fourth if fourth > 0 else math.inf
    reach = quantile(freedom) * math.sqrt(variance) / live
    # No object is used longer than it lives, though by chance the samples may seem to be.
    low = max(drag * math.exp(-reach), min(1.0, drag))
    high = max(drag * math.exp(min(reach, 100.0)), 1.0)
    return Estimate(value=drag, low=low, high=high), freedom


def _residual(each: Drawn, drag: float) -> float:
    return each.live - drag * each.needed


def _of_drawing(drawn: list[Drawn], drag: float) -> float:
    """The variance that comes of which objects are drawn: where two that follow each other differ."""
    if len(drawn) < 2:
        return 0.0
    found = sum(
        (one.left_out + other.left_out) / 4 * (_residual(one, drag) - _residual(other, drag)) ** 2
        for one, other in pairwise(drawn)
    )
    return found * len(drawn) / (len(drawn) - 1)


def _peaks(file: DragSamples) -> tuple[float, float]:
    """Most bytes in use, and most bytes needed, by the estimates of each sample."""
    lives: list[tuple[float, float]] = []
    uses: list[tuple[float, float]] = []
    for sample in file.samples:
        bytes_stood_for = sample.stands
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
