"""Sentences on what a process's memory consists of, and on what returns it to the OS."""

from collections.abc import Callable

from reap.base import units
from reap.base.records import Estimate, Record
from reap.rss.records import NAMES, Residence, Taken
from reap.rss.verdict import anonymous, holders, jvm, over_time, runtimes
from reap.rss.verdict.cases import LEAST, TRIM, Answer, Case, Remedy
from reap.rss.verdict.over_time import most

LARGE = 0.2
"""A share of resident memory that is worth a remedy."""
_TOGETHER = 0.5
"""The least part of the free pages that must lie in one stretch before another allocator is advised."""
_SEEN = 0.5
"""The least part of its peak that must have been seen before anything is said of what it consists of ..."""
_SNAPSHOTS = 3
"""... unless so many snapshots are of the second half: a burst between two changes nothing that settled."""


class ResidenceVerdict(Record):
    """Verdict on a process's memory once it has settled: in the second half of the time."""

    cause: str
    """The name of the part that matters, as `NAMES` in `records` has them, `copied`, or `nothing`."""
    sentences: list[str]
    remedies: list[Remedy] = []
    growth: dict[str, Estimate] = {}
    """By part: how fast it grows until the end, in bytes a second, where that matters."""


_BACKGROUND = "jemalloc, purging in the background"
_APART = Remedy(what="allocate what lives long apart from what dies soon (a region, a pool)")


def judge(residence: Residence) -> ResidenceVerdict:
    """The verdict on settled memory: the first large part of those that something can be done about."""
    settled = residence.settled
    cause = next((name for name in _RULES if _is_large(settled, name)), "nothing")
    missed = over_time.missed(residence)
    little = residence.largest.resident < _SEEN * residence.peak
    if missed and little and residence.late < _SNAPSHOTS:
        return ResidenceVerdict(cause="nothing", sentences=[missed])
    if settled.copied >= max(LEAST, LARGE * settled.resident):
        cause = "copied"
        sentences, remedies = anonymous.copied(Case(residence, settled.copied))
    elif cause == "nothing":
        sentences, remedies = _nothing(residence)
    else:
        sentences, remedies = _RULES[cause](Case(residence, getattr(settled.parts, cause)))
    growing = over_time.growing(residence)
    sentences += [over_time.grows(name, each) for name, each in growing.items()]
    sentences += [missed] if missed else over_time.gone(residence)
    sentences += over_time.freed(residence)
    if settled.swap >= LEAST:
        sentences.append(f"In addition, {units.size(settled.swap)} are swapped out.")
    sentences += _limit(residence)
    return ResidenceVerdict(cause=cause, sentences=sentences, remedies=remedies, growth=growing)


def _is_large(moment: Taken, name: str) -> bool:
    part: int = getattr(moment.parts, name)
    return part >= LEAST and part >= LARGE * moment.resident


def _pinned(case: Case) -> Answer:
    pin = case.residence.settled.pin
    who = "live blocks lie above them"
    if pin is not None and pin.blocks:
        number = "1 live block" if pin.blocks == 1 else f"{units.whole(pin.blocks)} live blocks"
        lies = "lies" if pin.blocks == 1 else "lie"
        stretch = units.size(pin.stretch)
        who = f"{number}, {units.size(pin.bytes)} in all, {lies} above the largest stretch of them, {stretch}"
    sentences = [
        f"{case.of} are free pages that glibc cannot return by itself: {who}.",
        "glibc shrinks this heap from the top only: a lower trim threshold does not change that.",
    ]
    trim = Remedy(what=f"{TRIM}: it would return {units.size(case.part)}")
    if pin is not None and pin.stretch < _TOGETHER * case.part:
        sentences.append(
            "The free pages are scattered between live blocks: another allocator may need a page for each of "
            "these as well."
        )
        return case.answer(*sentences, remedies=[trim, _APART])
    returns = case.remedy(_BACKGROUND, "an allocator that returns free pages anywhere in the heap")
    return case.answer(*sentences, remedies=[trim, returns])


def _top(case: Case) -> Answer:
    fixed = "a fixed threshold (large blocks then cost a mapping each)"
    return case.answer(
        f"{case.of} are free at the top of glibc's heap, below its trim threshold.",
        "By default that threshold grows to twice the largest block with its own mapping that was freed.",
        remedies=[
            case.remedy("trimming the top sooner", fixed),
            Remedy(what=TRIM),
        ],
    )


def _lazy(case: Case) -> Answer:
    remedies = [Remedy(what="have the dashboard subtract LazyFree, as /proc/PID/smaps_rollup has it")]
    at_once = "pages returned at once, for an accurate figure"
    if case.residence.allocator == "jemalloc":
        remedies.append(case.remedy("returning lazily freed pages at once", at_once))
    elif case.residence.settled.parts.go or case.residence.settled.parts.go_runtime:
        remedies.append(case.remedy("returning pages of Go at once", at_once))
    return case.answer(
        f"{case.of} were returned with MADV_FREE, and count as resident until the kernel reclaims them.",
        "The figure is misleading; the program is not at fault.",
        remedies=remedies,
    )


def _held(case: Case) -> Answer:
    holder = holders.of(case.residence, "held")
    if holder.allocator == "jemalloc":
        slow = holder.background is False
        why = "; it returns them only while it is called, as its background thread is off" if slow else ""
        back = Remedy(
            what="jemalloc's background thread, which returns them",
            environment=holder.setting("purging in the background"),
        )
        if holder.background is None:
            back = Remedy(
                what="pages returned at once", environment=holder.setting("returning dirty pages at once")
            )
        return case.answer(
            f"{case.of} are dirty pages that {holder.name} keeps for reuse{why}.", remedies=[back]
        )
    if holder.allocator == "tcmalloc":
        return case.answer(
            f"{case.of} are free pages that {holder.name} keeps for reuse.",
            remedies=[
                Remedy(what="call MallocExtension_ReleaseFreeMemory() after the work that frees"),
                case.remedy("returning free spans at once", "free spans returned at once"),
                case.remedy("returning more with each free", "return more with each free"),
            ],
        )
    return case.answer(
        *_in_heaps_of_threads(case),
        remedies=[case.remedy("two arenas", "fewer heaps"), Remedy(what=TRIM)],
    )


def _in_heaps_of_threads(case: Case) -> list[str]:
    heaps = case.residence.settled.heaps
    if heaps is None:
        return [f"{case.of} are free pages in the heaps that glibc makes for threads."]
    number = "1 heap" if heaps.number == 1 else f"{units.whole(heaps.number)} heaps"
    where = f"{units.size(heaps.whole)} between live blocks, {units.size(heaps.top)} at the top"
    return [
        f"{case.of} are free pages in {number} that glibc makes for threads: {where}.",
        f"malloc_trim(0) would return {units.size(heaps.trim)} of all heaps; it leaves the tops of these.",
    ]


def _cached(case: Case) -> Answer:
    heaps = case.residence.settled.heaps
    caches = heaps.caches if heaps is not None else None
    number = f"the caches of {units.whole(caches)} threads" if caches else "the caches of threads"
    number = "the cache of 1 thread" if caches == 1 else number
    return case.answer(
        f"{case.of} are free in {number}: blocks that glibc keeps for the thread that freed them.",
        "malloc_trim(0) does not return these: a cache keeps them until its thread ends, 7 of each size.",
        remedies=[case.remedy("thread caches of two blocks")],
    )


def _inside(case: Case) -> Answer:
    return case.answer(
        f"{case.of} are free bytes inside pages that hold live ones, and bookkeeping: no trimming helps.",
        "Whether another allocator has fewer of them depends on the order of frees: only a trial tells.",
        *holders.where(case.residence, "inside"),
        remedies=[_APART],
    )


def _heap(case: Case) -> Answer:
    if case.residence.recorded is not None:
        return case.answer(
            f"{case.of} are the allocator's and, by the recording, not live: held free, or inside pages.",
            remedies=[case.remedy(_BACKGROUND, "an allocator that returns pages")],
        )
    holder = holders.of(case.residence, "heap")
    if holder.allocator == "jemalloc":
        return case.answer(
            f"{case.of} are in use by {holder.name}, which was built without statistics: it does not report "
            "how much of that is live."
        )
    if holder.allocator in {"mimalloc", "snmalloc"}:
        purge = case.remedy("purging at once", "free pages returned at once")
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
        f"{case.of} are the allocator's: live bytes cannot be told from what it holds free.",
        *(
            [f"Its heaps were not walked from outside: {unwalked}."]
            if (unwalked := case.residence.unwalked)
            else []
        ),
        *jvm.of_malloc(case.residence),
        remedies=jvm.buffers(case.residence),
    )


def _live(case: Case) -> Answer:
    return case.answer(
        f"{case.of} are live: the program allocated them and has not freed them.",
        *holders.where(case.residence, "live"),
        *jvm.of_malloc(case.residence),
        remedies=jvm.buffers(case.residence),
    )


def _limit(residence: Residence) -> list[str]:
    group = residence.cgroup
    if group is None:
        return []
    current, limit = units.size(group.current), units.size(group.limit)
    return [f"Its cgroup has {current} of the limit of {limit}, page cache included."]


def _plain(name: str) -> Callable[[Case], Answer]:
    return lambda case: case.answer(f"{case.of} are {NAMES[name]}. No allocator changes that.")


_RULES: dict[str, Callable[[Case], Answer]] = {
    "zeros": anonymous.zeros,
    "pinned": _pinned,
    "lazy_free": _lazy,
    "held": _held,
    "top": _top,
    "inside": _inside,
    "heap": _heap,
    "cached": _cached,
    "live": _live,
    **{name: anonymous.owned(name) for name in runtimes.OWNED},
    "other": anonymous.other,
    "shared": _plain("shared"),
    "files": _plain("files"),
    "written": _plain("written"),
    "stack": anonymous.stack,
}
"""What can be returned to the OS comes first, since something can be done about it."""


def _nothing(residence: Residence) -> Answer:
    settled = residence.settled
    size = units.size(settled.resident)
    what = "memory (PSS)" if residence.processes > 1 else "resident memory"
    return [f"Nothing stands out in {size} of {what}; most of it is {NAMES[most(settled)]}."], []
