"""What a process's memory consists of, in a sentence or two, and what returns it to the OS."""

from collections.abc import Callable
from dataclasses import dataclass

from reap.base import units
from reap.base.records import Estimate, Record
from reap.rss import holders
from reap.rss.analyse import growth
from reap.rss.records import NAMES, Parts, Residence, Taken

LARGE = 0.2
"""A share of resident memory that is worth a remedy."""
_LEAST = 4 << 20
"""Bytes below which no remedy is worth the trouble."""
_GROWTH = 0.05
"""The least part of settled memory by which a part must grow in the second half of the time to be told."""
_TOGETHER = 0.5
"""The least part of the free pages that must lie in one stretch before another allocator is advised."""
_KEPT = 0.5
"""Where less of the most is left at the end, the most is told, too."""

_SEEN = 0.5
"""The least part of its peak that must have been seen before anything is said of what it consists of."""

TRIM = "call malloc_trim(0) after the work that frees"
_RETURNS = "background_thread:true,dirty_decay_ms:1000"
_BACKGROUND = {"MALLOC_CONF": _RETURNS}


class Remedy(Record):
    """What could be done about it."""

    what: str
    environment: dict[str, str] = {}
    allocator: str = ""
    """The name of an allocator to run it under; empty for the one that it has."""


class ResidenceVerdict(Record):
    """What a process's memory is once it has settled: in the second half of the time."""

    cause: str
    """The name of the part that matters, as `NAMES` in `records` has them, or `nothing`."""
    sentences: list[str]
    remedies: list[Remedy] = []
    growth: dict[str, Estimate] = {}
    """By part: how fast it grows until the end, in bytes a second, where that matters."""


_APART = Remedy(what="allocate what lives long apart from what dies soon (a region, a pool)")


@dataclass(frozen=True)
class _Case:
    """One part that is large."""

    residence: Residence
    part: int

    @property
    def of(self) -> str:
        return f"{units.size(self.part)} of {units.size(self.residence.settled.resident)} resident"

    def answer(self, *sentences: str, remedies: list[Remedy] | None = None) -> tuple[list[str], list[Remedy]]:
        return list(sentences), remedies or []


_Answer = tuple[list[str], list[Remedy]]


def judge(residence: Residence) -> ResidenceVerdict:
    """The verdict on settled memory: the first large part of those that something can be done about."""
    settled = residence.settled
    cause = next((name for name in _RULES if _is_large(settled, name)), "nothing")
    missed = _missed(residence)
    if missed and residence.largest.resident < _SEEN * residence.peak:
        return ResidenceVerdict(cause="nothing", sentences=[missed])
    if cause == "nothing":
        sentences, remedies = _nothing(residence)
    else:
        sentences, remedies = _RULES[cause](_Case(residence, getattr(settled.parts, cause)))
    growing = _growing(residence)
    sentences += [_grows(name, each) for name, each in growing.items()]
    sentences += [missed] if missed else _gone(residence)
    sentences += _freed(residence)
    if settled.swap >= _LEAST:
        sentences.append(f"In addition, {units.size(settled.swap)} are swapped out.")
    return ResidenceVerdict(cause=cause, sentences=sentences, remedies=remedies, growth=growing)


def _is_large(moment: Taken, name: str) -> bool:
    part: int = getattr(moment.parts, name)
    return part >= _LEAST and part >= LARGE * moment.resident


def _pinned(case: _Case) -> _Answer:
    pin = case.residence.settled.pin
    who = "live blocks lie above them"
    if pin is not None and pin.blocks:
        number = "1 live block" if pin.blocks == 1 else f"{units.whole(pin.blocks)} live blocks"
        lies = "lies" if pin.blocks == 1 else "lie"
        stretch = units.size(pin.stretch)
        who = f"{number}, {units.size(pin.bytes)} in all, {lies} above the largest stretch of them, {stretch}"
    sentences = [
        f"{case.of} are free pages that glibc cannot return by itself: {who}.",
        "glibc shrinks this heap from the top only: MALLOC_TRIM_THRESHOLD_ does not change that.",
    ]
    trim = Remedy(what=f"{TRIM}: it would return {units.size(case.part)}")
    if pin is not None and pin.stretch < _TOGETHER * case.part:
        sentences.append(
            "The free pages are scattered between live blocks: another allocator may need a page for each of "
            "these as well."
        )
        return case.answer(*sentences, remedies=[trim, _APART])
    returns = Remedy(
        what="an allocator that returns free pages anywhere in the heap",
        allocator="jemalloc",
        environment=_BACKGROUND,
    )
    return case.answer(*sentences, remedies=[trim, returns])


def _top(case: _Case) -> _Answer:
    threshold = {"MALLOC_TRIM_THRESHOLD_": "131072"}
    return case.answer(
        f"{case.of} are free at the top of glibc's heap, below its trim threshold.",
        "By default that threshold grows to twice the largest block with its own mapping that was freed.",
        remedies=[
            Remedy(what="a fixed threshold (large blocks then cost a mapping each)", environment=threshold),
            Remedy(what=TRIM),
        ],
    )


def _lazy(case: _Case) -> _Answer:
    remedies = [Remedy(what="have the dashboard subtract LazyFree, as /proc/PID/smaps_rollup has it")]
    if case.residence.allocator == "jemalloc":
        at_once = {"MALLOC_CONF": "muzzy_decay_ms:0"}
        remedies.append(Remedy(what="pages returned at once, for an accurate figure", environment=at_once))
    return case.answer(
        f"{case.of} were returned with MADV_FREE, and count as resident until the kernel reclaims them.",
        "The figure is misleading; the program is not at fault.",
        remedies=remedies,
    )


def _held(case: _Case) -> _Answer:
    holder = holders.of(case.residence, "held")
    if holder.allocator == "jemalloc":
        slow = holder.background is False
        why = "; it returns them only while it is called, as its background thread is off" if slow else ""
        back = Remedy(
            what="jemalloc's background thread, which returns them", environment=holder.setting(_RETURNS)
        )
        if holder.background is None:
            back = Remedy(what="pages returned at once", environment=holder.setting("dirty_decay_ms:0"))
        return case.answer(
            f"{case.of} are dirty pages that {holder.name} keeps for reuse{why}.", remedies=[back]
        )
    if holder.allocator == "tcmalloc":
        return case.answer(
            f"{case.of} are free pages that {holder.name} keeps for reuse.",
            remedies=[
                Remedy(what="call MallocExtension_ReleaseFreeMemory() after the work that frees"),
                Remedy(what="return more with each free", environment={"TCMALLOC_RELEASE_RATE": "10"}),
            ],
        )
    return case.answer(
        *_in_heaps_of_threads(case),
        remedies=[Remedy(what="fewer heaps", environment={"MALLOC_ARENA_MAX": "2"}), Remedy(what=TRIM)],
    )


def _in_heaps_of_threads(case: _Case) -> list[str]:
    heaps = case.residence.settled.heaps
    if heaps is None:
        return [f"{case.of} are free pages in the heaps that glibc makes for threads."]
    number = "1 heap" if heaps.number == 1 else f"{units.whole(heaps.number)} heaps"
    where = f"{units.size(heaps.whole)} between live blocks, {units.size(heaps.top)} at the top"
    return [
        f"{case.of} are free pages in {number} that glibc makes for threads: {where}.",
        f"malloc_trim(0) would return {units.size(heaps.trim)} of all heaps; it leaves the tops of these.",
    ]


def _cached(case: _Case) -> _Answer:
    heaps = case.residence.settled.heaps
    caches = heaps.caches if heaps is not None and heaps.caches else 0
    number = "the cache of 1 thread" if caches == 1 else f"the caches of {units.whole(caches)} threads"
    return case.answer(
        f"{case.of} are free in {number}: blocks that glibc keeps for the thread that freed them.",
        "malloc_trim(0) does not return these: a cache keeps them until its thread ends, 7 of each size.",
        remedies=[
            Remedy(
                what="smaller caches (malloc and free then take a lock more often)",
                environment={"GLIBC_TUNABLES": "glibc.malloc.tcache_count=2"},
            )
        ],
    )


def _inside(case: _Case) -> _Answer:
    return case.answer(
        f"{case.of} are free bytes inside pages that hold live ones, and bookkeeping: no trimming helps.",
        "Whether another allocator has fewer of them depends on the order of frees: only a trial tells.",
        *holders.where(case.residence, "inside"),
        remedies=[_APART],
    )


def _heap(case: _Case) -> _Answer:
    if case.residence.recorded is not None:
        return case.answer(
            f"{case.of} are the allocator's and, by the recording, not live: held free, or inside pages.",
            remedies=[
                Remedy(what="an allocator that returns pages", environment=_BACKGROUND, allocator="jemalloc")
            ],
        )
    holder = holders.of(case.residence, "heap")
    if holder.allocator == "jemalloc":
        return case.answer(
            f"{case.of} are in use by {holder.name}, which was built without statistics: it does not report "
            "how much of that is live."
        )
    if holder.allocator in {"mimalloc", "snmalloc"}:
        purge = Remedy(what="free pages returned at once", environment={"MIMALLOC_PURGE_DELAY": "0"})
        return case.answer(
            f"{case.of} are committed by {holder.name}: it does not report how much of that is live.",
            remedies=[purge] if holder.allocator == "mimalloc" else [],
        )
    if case.residence.allocator:
        return case.answer(
            f"{case.of} are free in glibc's heaps: in fastbins, or in heaps that changed during the walk.",
            "Whether as whole pages is not known.",
            remedies=[Remedy(what=f"{TRIM}: it joins what lies in fastbins first")],
        )
    return case.answer(
        f"{case.of} are the allocator's: from outside, live bytes cannot be told from what it holds free."
    )


def _live(case: _Case) -> _Answer:
    return case.answer(
        f"{case.of} are live: the program allocated them and has not freed them.",
        *holders.where(case.residence, "live"),
    )


def _zeros(case: _Case) -> _Answer:
    settings = holders.without_huge_pages(case.residence)
    remedies = [Remedy(what=f"no huge pages in {name}", environment=each) for name, each in settings.items()]
    remedies.append(
        Remedy(what="no huge pages in the process: prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) as main begins")
    )
    if case.residence.allocator == "glibc":
        remedies.append(
            Remedy(
                what="no madvise(MADV_HUGEPAGE) for memory that is written to here and there; "
                "glibc.malloc.hugetlb=0 where GLIBC_TUNABLES sets it"
            )
        )
    return case.answer(
        f"{case.of} are pages of only zeros inside huge pages: one touched byte makes 2 MiB resident.",
        f"{units.size(case.residence.settled.huge)} are in huge pages. How much of that holds only zeros is "
        "estimated from a sample; it was never written to, or written with zeros.",
        remedies=remedies,
    )


def _other(case: _Case) -> _Answer:
    silent = holders.silent(case.residence)
    if not case.residence.settled.said:
        return case.answer(
            f"{case.of} are anonymous mappings: an allocator's, the program's own, or stacks of threads.",
            *([f"The program has {silent}."] if silent else []),
            "From outside these cannot be told apart.",
        )
    if silent:
        return case.answer(
            f"{case.of} are anonymous memory. {silent} may hold a part: it cannot be asked.",
            "The rest is the program's own mmap, stacks of threads, or the heap of a runtime.",
        )
    return case.answer(
        f"{case.of} are anonymous memory that no malloc accounts for.",
        "It is the program's own mmap, stacks of threads, or the heap of Python, Go, V8 or a JVM.",
    )


def _plain(name: str) -> Callable[[_Case], _Answer]:
    return lambda case: case.answer(f"{case.of} are {NAMES[name]}. No allocator changes that.")


_RULES: dict[str, Callable[[_Case], _Answer]] = {
    "zeros": _zeros,
    "pinned": _pinned,
    "lazy_free": _lazy,
    "held": _held,
    "top": _top,
    "inside": _inside,
    "heap": _heap,
    "cached": _cached,
    "live": _live,
    "other": _other,
    "shared": _plain("shared"),
    "files": _plain("files"),
    "written": _plain("written"),
    "stack": _plain("stack"),
}
"""What can be returned to the OS comes first, since something can be done about it."""


def _missed(residence: Residence) -> str:
    """What to say where the kernel counted a higher peak than all snapshots have; empty where it did not."""
    largest = residence.largest.resident
    if residence.peak - largest < max(_LEAST, LARGE * residence.peak):
        return ""
    return (
        f"Its peak was {units.size(residence.peak)}, and the largest snapshot has {units.size(largest)}: "
        "what the rest was is not known. Give the program more work, or take snapshots more often "
        "(--interval)."
    )


def _gone(residence: Residence) -> list[str]:
    """What was there at the most, where settled memory says little of it."""
    largest = residence.largest
    if largest.resident - residence.settled.resident < max(_LEAST, largest.resident * (1 - _KEPT)):
        return []
    name = _most(largest)
    part = units.size(getattr(largest.parts, name))
    size = units.size(largest.resident)
    when = f"{units.duration(largest.seconds)} after the start"
    return [f"At peak it was {size}, {when}; the largest part, {part}, was {NAMES[name]}."]


def _freed(residence: Residence) -> list[str]:
    """What is there at the end, where much less than what settled."""
    settled, last = residence.settled.resident, residence.last.resident
    if settled - last < max(_LEAST, settled * (1 - _KEPT)):
        return []
    return [f"At the end, as it exits, it is {units.size(last)}; what is freed then does not count."]


def _growing(residence: Residence) -> dict[str, Estimate]:
    """Parts that grow by as much as is worth saying."""
    moments = residence.moments
    half = (moments[-1].seconds - moments[0].seconds) / 2
    least = max(_LEAST, _GROWTH * residence.settled.resident)
    return {name: each for name, each in growth(moments).items() if each.low * half >= least}


def _grows(name: str, each: Estimate) -> str:
    said = f"{NAMES[name]} grew by {units.sizes_with_interval(each, ' a second')} until the end"
    return f"{said[0].upper()}{said[1:]}{': a cache, or a leak' if name == 'live' else ''}."


def _most(moment: Taken) -> str:
    return max(Parts.__struct_fields__, key=lambda name: getattr(moment.parts, name))


def _nothing(residence: Residence) -> _Answer:
    settled = residence.settled
    size = units.size(settled.resident)
    return [f"Nothing stands out in {size} of resident memory; most of it is {NAMES[_most(settled)]}."], []
