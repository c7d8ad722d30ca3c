"""From a recording to a profile: what `reap show` says."""

from functools import cache
from typing import Literal

from msgspec.structs import replace

from reap import native
from reap.base.records import Estimate, exactly
from reap.recording.analyse import estimates, notes, sizes
from reap.recording.analyse.coverage import coverage
from reap.recording.analyse.patterns.basis import Basis
from reap.recording.analyse.patterns.every import patterns
from reap.recording.analyse.rates import rates
from reap.recording.analyse.shares import ENOUGH_SAMPLES
from reap.recording.analyse.sites import Stack, folded
from reap.recording.analyse.unrecorded import unrecorded
from reap.recording.analyse.usage import usage
from reap.recording.part import limits_of
from reap.recording.records import (
    Attached,
    Latency,
    LifetimeBin,
    Linked,
    Part,
    PerRequest,
    PhaseRequests,
    Point,
    Process,
    Profile,
    Requests,
    Share,
    Totals,
    UnrecordedAllocator,
)

CALLS = (
    "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc",
    "pvalloc", "operator new", "free", "operator delete", "malloc_usable_size",
)  # fmt: skip
"""By number, as enum reap_call of the trace format has them."""

_MOST_STACKS = 1000
"""By bytes and by objects, each."""
_MOST_SITES = 200
_UNSURE = 0.2
"""An interval that reaches down to this part of its value says little."""


def profile(recording: native.Recording, command: list[str], *, beside_recorder: bool = False) -> Profile:
    """Everything a recording says. `command` is what was run; empty: as it says itself.

    `beside_recorder`: the recording is `native.Recording.beside` of another.
    """
    header = recording.header()
    whole = recording.totals()
    images = recording.images()
    depth: Literal["triage", "full"] = "full" if header.depth == native.FULL else "triage"
    objects = sum(image.objects for image in images)
    size = sum(image.bytes for image in images)
    stacks = recording.stacks(_MOST_STACKS)
    beside = recording.beside()
    own = (
        []
        if header.attached
        else unrecorded(
            _modules(recording, stacks),
            {image.provider for image in images},
            _own(recording),
            _watched(beside),
        )
    )
    too_few = depth == "triage" and not header.attached and whole.samples < ENOUGH_SAMPLES
    width, moments = recording.timeline()
    resident = max((float(level) for _, level in recording.resident()), default=0.0)
    totals = _totals(objects, size, whole, depth, resident)
    frames = cache(recording.frames)
    used, floors, grew = usage(recording, folded(stacks, frames), header)
    profiled = Profile(
        command=command or next((image.command for image in images if image.command), []),
        depth=depth,
        seconds=header.seconds,
        totals=totals,
        processes=[_process(image, depth, resident) for image in images],
        sizes=sizes.bins(recording.sizes()),
        lifetimes=_lifetimes(recording, whole),
        temporary=_temporary(whole, depth),
        live=[]
        if header.attached
        else [Point(seconds=at, bytes=min(level, totals.max_bytes.value)) for at, level, _ in moments],
        resident=[Point(seconds=at, bytes=float(level)) for at, level in recording.resident()],
        rates=rates(moments, width, _counted_over(header, objects), whole.samples),
        sites=[] if too_few else [each.site for each in used[:_MOST_SITES]],
        calls={name: count for name, count in zip(CALLS, whole.calls, strict=False) if count},
        latencies=[
            Latency(call=CALLS[call], samples=samples, p50=p50, p90=p90, p99=p99, p999=p999)
            for call, samples, p50, p90, p99, p999 in recording.latencies()
        ],
        share=_share(recording.instruction_samples(), header, own),
        requests=_requests(recording.requests()),
        part=_part(header) if header.lead or header.gate != native.GATE_NONE else None,
        attached=_attached(header, beside=beside_recorder) if header.attached else None,
        samples=whole.samples,
        coverage=coverage(recording, notes.cut(recording)),
        labels=dict(recording.labels()),
        unrecorded_allocators=own,
        linked=_linked(profile(beside, [], beside_recorder=True)) if beside and beside.images() else None,
        grew=grew,
        notes=notes.notes(recording, depth, own, beside=beside_recorder),
    )
    # Patterns have intervals of their own, which say how much few samples are worth.
    everywhere = replace(profiled, sites=[each.site for each in used])
    return replace(profiled, patterns=patterns(Basis(everywhere, used, floors, frames, recording.producer)))


def _modules(recording: native.Recording, stacks: list[Stack]) -> set[str]:
    """The files that are known of the program: its executables, and those that allocated.

    Where functions of an allocator's own are recorded also those that may call them unrecorded.
    """
    own = _own(recording)
    others = {path for path, _ in own} if any(bits for _, bits in own) else set()
    called = {frame[0] for image, number, *_ in stacks for frame in recording.frames(image, number)}
    return {*called, *others, *(image.executable for image in recording.images())}


def _watched(beside: native.Recording | None) -> set[str]:
    """The files of processes that were watched beside the recorder."""
    return {path for path, *_ in beside.modules()} if beside else set()


def _linked(seen: Profile) -> Linked | None:
    """The part of a profile from outside that is shown beside that of a recorder."""
    if seen.attached is None:
        return None
    return Linked(
        objects=seen.totals.total_objects,
        bytes=seen.totals.total_bytes,
        samples=seen.samples,
        attached=seen.attached,
        sites=seen.sites,
        calls=seen.calls,
        notes=seen.notes,
    )


def _own(recording: native.Recording) -> list[tuple[str, int]]:
    """The modules, each with the allocators whose own functions are recorded wherever it calls them."""
    return [(path, own) for path, _, own in recording.modules()]


def _counted_over(header: native.Header, objects: int) -> int | None:
    """Sum of the sampled allocations; None where the counters are of a longer time."""
    return None if header.lead and limits_of(header).is_ring else objects


def _part(header: native.Header) -> Part:
    limits = limits_of(header)
    start = limits.last or str(limits.start)
    end = header.lead + header.seconds
    return Part(began=header.lead, start=start, ended=end, stop=str(limits.stop))


def _attached(header: native.Header, *, beside: bool) -> Attached:
    seen = header.attach
    between = seen.watched_ns - seen.window_ns
    own = seen.watched_cpu_ns - seen.cost_ns
    return Attached(
        windows=seen.windows,
        share=_ratio(seen.window_ns, seen.watched_ns),
        calls=seen.calls,
        overhead=_ratio(seen.cost_ns, own),
        cpu_within=_ratio(seen.window_cpu_ns, seen.window_ns),
        cpu_between=_ratio(seen.watched_cpu_ns - seen.window_cpu_ns, between),
        slowed=seen.slowed,
        lost=seen.lost,
        broken=seen.broken,
        unsampled=seen.unsampled,
        from_start=header.from_start,
        beside=beside,
    )


def _ratio(part: int, whole: int) -> float:
    return max(part, 0) / whole if whole > 0 else 0.0


def _totals(
    objects: int, size: int, part: native.Image | native.Totals, depth: str, resident: float
) -> Totals:
    use = part.in_use
    if depth == "full":
        return _result(
            objects,
            size,
            _between(use.max_objects, part.most.objects),
            _between(use.max_bytes, part.most.bytes),
        )
    # Totals are counted: a rare sample that stands for too much cannot lift a peak above them.
    largest = estimates.at_most(estimates.from_variance(use.max_bytes, use.max_bytes_variance), size)
    if use.max_bytes == 0:  # no block was sampled: all may have been in use
        largest = Estimate(value=0.0, low=0.0, high=float(size))
    # Few samples that each stand for much say next to nothing: what was touched is resident.
    if resident > 0 and not largest.exact and largest.low <= _UNSURE * largest.value:
        largest = estimates.at_most(largest, largest.low + resident)
    return _result(objects, size, _most_objects(objects, part), largest)


def _between(value: float, bounds: native.Between) -> Estimate:
    """A figure that depends on the order of events as far as that is not known."""
    return Estimate(value=min(max(value, bounds.low), bounds.high), low=bounds.low, high=bounds.high)


def _result(objects: int, size: int, most: Estimate, largest: Estimate) -> Totals:
    return Totals(
        total_objects=objects,
        max_objects=most,
        average_size=size / objects if objects else 0.0,
        total_bytes=size,
        max_bytes=largest,
        total_over_max=size / largest.value if largest.value else 0.0,
    )


def _most_objects(objects: int, part: native.Image | native.Totals) -> Estimate:
    counted, use = part.counted, part.in_use
    if counted.bound > 0:  # triage: by the counters that samples carry
        return estimates.at_most(Estimate(value=counted.most, low=counted.low, high=counted.bound), objects)
    most = estimates.from_variance(use.max_objects, use.max_objects_variance)
    return estimates.at_most(most, objects)


def _process(image: native.Image, depth: str, resident: float) -> Process:
    command = image.command
    bypassed = bool(image.flags & native.IMAGE_BYPASSED)
    said = []
    if bypassed:
        said.append("its malloc is its own: nothing of it could be recorded")
    if image.flags & native.IMAGE_FORKED:
        said.append("forked")
    return Process(
        image=image.image,
        pid=image.pid,
        name=image.executable.rpartition("/")[2] or (command[0] if command else "unknown"),
        command=command,
        allocator=image.provider,
        totals=_totals(image.objects, image.bytes, image, depth, resident),
        recorded=not bypassed,
        note="; ".join(said),
    )


def _lifetimes(recording: native.Recording, whole: native.Totals) -> list[LifetimeBin]:
    freed = [
        LifetimeBin(low=low, high=high, objects=objects, bytes=size)
        for low, high, objects, size in recording.lifetimes()
    ]
    if whole.immortal_objects > 0:
        last = LifetimeBin(low=0.0, high=None, objects=whole.immortal_objects, bytes=whole.immortal_bytes)
        return [*freed, last]
    return freed


def _temporary(whole: native.Totals, depth: str) -> Estimate:
    if whole.weight <= 0:
        return exactly(0.0)
    share = whole.temporary / whole.weight
    if depth == "full":
        return exactly(share)
    count = estimates.effective(whole.weight, whole.weight_squares)
    return estimates.proportion(share * count, count)


def _requests(counted: list[native.RequestCounts]) -> Requests | None:
    if not counted or counted[0].count == 0:
        return None
    whole, *phases = [
        PhaseRequests(
            phase=each.phase,
            count=each.count,
            allocations=_per_request(each.allocations, each.count),
            bytes=_per_request(each.bytes, each.count),
        )
        for each in counted
        if each.count
    ]
    named = phases if any(each.phase for each in phases) else []
    return Requests(count=whole.count, allocations=whole.allocations, bytes=whole.bytes, phases=named)


def _per_request(counted: native.PerRequest, count: int) -> PerRequest:
    return PerRequest(mean=counted.total / count, p50=counted.p50, p99=counted.p99, max=counted.max)


def _share(
    seen: native.InstructionSamples, header: native.Header, own: list[UnrecordedAllocator]
) -> Share | None:
    if seen.all == 0:
        return None
    by_timer = header.sampler == native.SAMPLER_TIMER
    return Share(
        method="timer" if by_timer else "perf",
        samples=seen.all,
        inside=seen.inside,
        kernel_inside=seen.kernel_inside,
        share=estimates.proportion(seen.inside, seen.all),
        # A timer's handler does not see who called libc's wrapper of a system call.
        sees_kernel=not by_timer and header.sampler_kernel,
        lower_bound=any(not each.function for each in own),
    )
