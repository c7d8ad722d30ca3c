"""Everything that the rules of the wall ask of its facts, under names that read in a rule."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from reap.base.records import Estimate
from reap.compare.thresholds import TOO_SHORT
from reap.evidence.analyse.suspicions import thresholds as at
from reap.evidence.records import CallCount, Owner, Wall
from reap.launch.records import Calibration

_PAGE = 4096


def _finite(value: float) -> float:
    """A figure that can be counted with: nothing below 0, nothing that is no number."""
    return value if 0 <= value < float("inf") else 0.0


def _part(value: float, whole: float) -> float:
    return min(1.0, _finite(value) / whole) if whole > 0 else 0.0


@dataclass(frozen=True)
class WallFacts:
    """Facts about one program. Parts of time are of `busy`, unless a name says otherwise."""

    wall: Wall

    @cached_property
    def costs(self) -> Calibration:
        """Costs of a block and a page on the machine; the defaults where the file is implausible."""
        given = self.wall.calibration
        return given if given.plausible else Calibration()

    @cached_property
    def fast_pair(self) -> float:
        """Seconds for a block that no allocator is below: of one hot block, or of the fastest allocator."""
        return min(self.costs.fast_pair, at.FASTEST * self.costs.usual_pair)

    @cached_property
    def knee_pair(self) -> float:
        """Seconds for a block from which on it is past the knee: between the two sides, by their ratio."""
        usual = self.costs.usual_pair
        return math.sqrt(usual * max(self.costs.past_pair, at.KNEE_STEP * usual))

    @cached_property
    def samples(self) -> int:
        """Of CPU time."""
        return max(
            sum(max(0, n) for n in self.wall.owners.values()),
            self.wall.share.samples if self.wall.share else 0,
        )

    @cached_property
    def enough_samples(self) -> bool:
        """Whether a share of CPU time says something."""
        return self.samples >= at.FEWEST_SAMPLES

    @property
    def too_short(self) -> bool:
        """Whether the program ended before anything could be measured."""
        return self.cpu < TOO_SHORT and self.elapsed < 5 * TOO_SHORT

    @cached_property
    def cpu(self) -> float:
        """Seconds."""
        return _finite(self.wall.cpu_seconds)

    @cached_property
    def elapsed(self) -> float:
        """Seconds."""
        return _finite(self.wall.wall_seconds)

    @cached_property
    def busy(self) -> float:
        """Seconds of CPU time and of waiting for what a program can do something about.

        However many threads wait for the same, no more than the time that passed counts: a pool that idles
        would drown what the others do.
        """
        return self.cpu + self.waits("lock") + self.waits("disk") + self.waits("network")

    def waits(self, what: str) -> float:
        """Seconds that the program waited for `lock`, `disk` or `network`.

        Most servers have a thread that waits for the network all the time, while others work: what is waited
        for outside counts only as far as the program did nothing else, and had nothing else to do: one that
        shares its processor with other programs has less CPU time than time, and waits for nothing.
        """
        waiting = self.wall.waiting
        if waiting is None or (what == "lock" and not self.hands_over):
            return 0.0
        most = self.elapsed if what == "lock" else max(0.0, self.elapsed - self.cpu)
        if what != "lock" and waiting.idle is not None:
            most = min(most, _finite(waiting.idle))
        return min(_finite(getattr(waiting, what)), most)

    @cached_property
    def own_waiting(self) -> float:
        """The part of time in which threads waited for each other, and none of those awaited allocated."""
        waiting, known = self.wall.waiting, self.allocator_lock
        inside = waiting.lock_on_allocator if waiting else None
        part = self.waiting_part("lock") - (known or 0.0)
        return part * (1 - inside.value) if inside else part

    def waiting_part(self, what: str) -> float:
        """Time spent waiting for `lock`, `disk` or `network`, as a part of `busy`."""
        return _part(self.waits(what), self.busy)

    def owner(self, name: Owner) -> float:
        """The part of CPU time in which this one was executing."""
        return _part(self.wall.owners.get(name, 0), self.samples) * self.sampled

    @cached_property
    def sees_kernel(self) -> bool:
        """Whether time in the kernel is among the samples."""
        return self.wall.share is None or self.wall.share.sees_kernel

    @cached_property
    def sampled(self) -> float:
        """The part of CPU time that was sampled: without the kernel's, where that is not seen."""
        whole = _finite(self.wall.user_seconds) + _finite(self.wall.system_seconds)
        return 1.0 if self.sees_kernel or whole <= 0 else _part(self.wall.user_seconds, whole)

    def of_busy(self, part_of_cpu: float) -> float:
        """A part of CPU time as one of `busy`."""
        return _part(part_of_cpu * self.cpu, self.busy)

    @cached_property
    def share(self) -> Estimate | None:
        """Of CPU time in the allocator; None where it was not sampled or is no share."""
        share = self.wall.share.share if self.wall.share else None
        if share is None or not 0 <= share.low <= share.value <= share.high <= 1:
            return None
        return share

    @cached_property
    def kernel_part(self) -> float:
        """The part of CPU time in the kernel for memory.

        On the allocator's behalf, or because the program touched what the allocator had fresh from it. Where
        the kernel was not sampled, about what so many page faults take, and no more than it took in all.
        """
        share, faults = self.wall.share, self.wall.faults
        if not self.sees_kernel:
            seconds = min(_finite(self.wall.system_seconds), faults.minor * self.costs.page_fault)
            return _part(seconds, self.cpu)
        seen = sum(max(0, n) for n in faults.by_cause.values())
        fresh = max(0, faults.by_cause.get("heap", 0)) + max(0, faults.by_cause.get("allocator", 0))
        own = self.owner("kernel_fault") * (_part(fresh, seen) if seen else 1.0)
        inside = _part(share.kernel_inside, share.samples) if share else 0.0
        # Inside the allocator the kernel also puts threads to sleep that wait for its lock.
        calls = faults.minor + (self.memory_calls or 0)
        slow = max(at.A_SLOW_FAULT, at.SLOW_FAULT * self.costs.page_fault)
        most = _part(calls * slow, self.cpu) if faults.minor > 0 else 1.0
        return min(1.0, most, own + inside)

    @cached_property
    def past_malloc(self) -> int | None:
        """Bytes of fresh pages, where they are so many that malloc cannot have handed them out; else None.

        They are a runtime's own heap, or what the program maps. CPython's arenas are its allocator's.
        """
        counted, faults = self.wall.counted, self.wall.faults
        seen = sum(max(0, n) for n in faults.by_cause.values())
        if counted is None or not seen or any(each.kind == "cpython" for each in self.wall.collections):
            return None
        fresh = round(faults.minor * _PAGE * _part(faults.by_cause.get("heap", 0), seen))
        return fresh if fresh >= at.PAST_MALLOC_BYTES and fresh > at.PAST_MALLOC * counted.bytes else None

    @cached_property
    def own_part(self) -> float:
        """The part of CPU time in the allocator's own code, not the kernel."""
        share = self.wall.share
        if share is None:
            return 0.0
        own = share.inside - share.kernel_inside - max(0, self.wall.filling) - max(0, self.wall.locking)
        return self.sampled * _part(own, share.samples)

    @cached_property
    def filling_part(self) -> float:
        """The part of CPU time in memset for calloc, or in memcpy for realloc."""
        return self.sampled * _part(self.wall.filling, self.samples)

    @cached_property
    def locking_part(self) -> float:
        """The part of CPU time in the allocator's locks."""
        return self.sampled * _part(self.wall.locking, self.samples)

    @cached_property
    def allocations(self) -> int:
        """Calls that returned a block, counted exactly; 0 where they were not."""
        return max(0, self.wall.counted.allocations if self.wall.counted else self.wall.requests.allocations)

    @cached_property
    def pair(self) -> float | None:
        """Seconds in the allocator's own code for a block, from malloc to free; None where not known."""
        if not self.allocations or not self.enough_samples or self.cpu <= 0 or self.in_front:
            return None
        return self.own_part * self.cpu / self.allocations

    @property
    def in_front(self) -> str:
        """The language whose own allocator most of the time was in: its blocks are not the counted ones."""
        return {"cpython": "CPython", "go": "Go"}.get(self.wall.allocator, "")

    @cached_property
    def slow_part(self) -> float | None:
        """Of glibc's samples, the part on its slow path; None where its functions' names are not seen."""
        own = {each.function: each.samples for each in self.wall.hot if each.owner == "allocator"}
        if not own.keys() & at.GLIBC_NAMES:
            return None
        slow = sum(max(0, count) for name, count in own.items() if name.partition(".")[0] in at.GLIBC_SLOW)
        return _part(slow, sum(max(0, count) for count in own.values()))

    @cached_property
    def past_the_knee(self) -> bool:
        """Whether glibc's allocator takes its slow path so often that it is past the knee.

        By its functions, where their names are seen; else by what a block costs.
        """
        if self.pair is None or not self.on_glibc or not self.frees or self.uncached:
            return False
        if self.slow_part is not None:
            return self.slow_part - _part(self.fresh_cost, self.own_part * self.cpu) >= at.SLOW_PART
        return self.pair - self.fresh_cost / self.allocations >= self.knee_pair

    @cached_property
    def uncached(self) -> Literal["", "aligned", "elsewhere", "resized"]:
        """Reason why most blocks bypass the thread cache; empty where that is not known."""
        counted = self.wall.counted
        if counted is None or counted.allocations <= 0:
            return ""
        if counted.aligned >= at.MOSTLY * counted.allocations:
            return "aligned"
        if counted.freed_elsewhere is not None and counted.freed_elsewhere.low >= at.OFTEN:
            return "elsewhere"
        return "resized" if counted.reallocs >= at.MOSTLY * counted.allocations else ""

    @property
    def own_past_the_knee(self) -> float:
        """The part of CPU time in the allocator's own code beyond what as many blocks take past the knee."""
        if self.pair is None:
            return 0.0
        return _part((self.pair - self.costs.past_pair) * self.allocations, self.cpu)

    @property
    def fresh_cost(self) -> float:
        """Seconds for blocks that no cache can serve, since so many were never in use at once before."""
        counted = self.wall.counted
        if counted is None or counted.allocations <= 0 or counted.bytes <= 0:
            return 0.0
        mean = counted.bytes / counted.allocations
        return _finite(counted.peak_bytes) / mean * at.FRESH_BLOCK * self.costs.past_pair

    @property
    def frees(self) -> bool:
        """Whether the program frees a good part of its blocks: without that, no cache can overflow."""
        counted = self.wall.counted
        return counted is None or counted.frees >= at.FREES * counted.allocations

    def calls(self, *names: str) -> int | None:
        """Number of calls of these names by the allocator; None where nobody counted."""
        if self.wall.calls is None:
            return None
        held = [self.wall.calls.get(name, CallCount()) for name in names]
        return max(0, sum(each.by_allocator for each in held))

    @cached_property
    def memory_calls(self) -> int | None:
        """Calls of the allocator for memory, and to give it back."""
        return self.calls("brk", "mmap", "munmap", "mremap", "madvise")

    @cached_property
    def calls_a_second(self) -> float:
        """Of CPU time; 0 where nobody counted."""
        return (self.memory_calls or 0) / self.cpu if self.cpu > 0 else 0.0

    @cached_property
    def turnover(self) -> float | None:
        """Memory from minor page faults, as a multiple of peak resident memory; None without a peak."""
        peak = self.wall.resident.peak
        return self.wall.faults.minor * _PAGE / peak if peak > 0 else None

    @cached_property
    def faults_a_call(self) -> float | None:
        """Minor page faults for each call of the allocator for memory."""
        return self.wall.faults.minor / self.memory_calls if self.memory_calls else None

    @cached_property
    def thrashes(self) -> bool:
        """Whether memory is returned to the OS and requested again, at a good part of the cost."""
        return (
            self.calls_a_second >= at.CALLS_A_SECOND
            and (self.turnover is None or self.turnover >= at.TURNOVER)
            and (self.faults_a_call is None or self.faults_a_call < at.FAULTS_A_CALL)
        )

    @cached_property
    def hands_over(self) -> bool:
        """Whether threads wait for each other often enough to be at the same work."""
        futex = (self.wall.calls or {}).get("futex")
        if futex is None:  # whoever waits for a lock has been executing in it, too
            return self.owner("lock") + self.locking_part >= at.LOCK_SEEN
        return self.elapsed > 0 and futex.total / self.elapsed >= at.LOCK_CALLS_A_SECOND

    @cached_property
    def allocator_lock(self) -> float | None:
        """The part of time in which threads waited for the allocator's lock; None where not known."""
        waiting = self.wall.waiting
        if waiting is None:
            return None
        if waiting.allocator_lock is not None:
            return _part(min(_finite(waiting.allocator_lock), self.waits("lock")), self.busy)
        futex = (self.wall.calls or {}).get("futex")
        if futex is None or futex.total <= 0:
            return None if self.waits("lock") else 0.0
        return self.waiting_part("lock") * _part(futex.by_allocator, futex.total)

    @cached_property
    def large_blocks(self) -> float:
        """The part of counted blocks that no thread cache of glibc keeps."""
        sizes = self.wall.counted.sizes if self.wall.counted else []
        every = sum(max(0, each.objects) for each in sizes)
        return _part(sum(max(0, each.objects) for each in sizes if each.low > at.TCACHE_LARGEST - 9), every)

    @property
    def on_glibc(self) -> bool:
        """Whether the C library's own malloc serves it, as far as that is known."""
        return self.wall.allocator in {"", "glibc"} or "libc.so" in self.wall.allocator
