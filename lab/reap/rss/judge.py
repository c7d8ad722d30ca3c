"""What a process's memory consists of, in a sentence or two, and what returns it to the OS."""

from collections.abc import Callable
from dataclasses import dataclass

from reap.base import units
from reap.base.records import Record
from reap.rss import runtimes
from reap.rss.records import NAMES, Parts, Residence, Taken

LARGE = 0.2
"""A share of resident memory that is worth a remedy."""
_LEAST = 4 << 20
"""Bytes below which no remedy is worth the trouble."""
_GROWTH = 1.2
_TOGETHER = 0.5
"""The least part of the free pages that must lie in one stretch before another allocator is advised."""
_KEPT = 0.5
"""Where less of the most is left at the end, the most is told, too."""

_SEEN = 0.5
"""The least part of its peak that must have been seen before anything is said of what it consists of."""

TRIM = "call malloc_trim(0) after the work that frees"
_BACKGROUND = {"MALLOC_CONF": "background_thread:true,dirty_decay_ms:1000"}


class Remedy(Record):
    """What could be done about it."""

    what: str
    environment: dict[str, str] = {}
    allocator: str = ""
    """The name of an allocator to run it under; empty for the one that it has."""


class ResidenceVerdict(Record):
    """What a process's memory is at the end."""

    cause: str
    """The name of the part that matters, as `NAMES` in `records` has them, `copied`, or `nothing`."""
    sentences: list[str]
    remedies: list[Remedy] = []


_APART = Remedy(what="allocate what lives long apart from what dies soon (a region, a pool)")


@dataclass(frozen=True)
class _Case:
    """One part that is large."""

    residence: Residence
    part: int

    @property
    def of(self) -> str:
        of = self.residence.processes
        whole = f"PSS of {of} processes" if of > 1 else "resident"
        return f"{units.size(self.part)} of {units.size(self.residence.last.resident)} {whole}"

    def answer(self, *sentences: str, remedies: list[Remedy] | None = None) -> tuple[list[str], list[Remedy]]:
        return list(sentences), remedies or []


_Answer = tuple[list[str], list[Remedy]]


def judge(residence: Residence) -> ResidenceVerdict:
    """The verdict on the last moment: the first large part of those that something can be done about."""
    last = residence.last
    cause = next((name for name in _RULES if _is_large(last, name)), "nothing")
    missed = _missed(residence)
    if missed and residence.largest.resident < _SEEN * residence.peak:
        return ResidenceVerdict(cause="nothing", sentences=[missed])
    if _is_copied(last):
        cause, (sentences, remedies) = "copied", _copied(residence)
    elif cause == "nothing":
        sentences, remedies = _nothing(residence)
    else:
        sentences, remedies = _RULES[cause](_Case(residence, getattr(last.parts, cause)))
    sentences += [missed] if missed else _gone(residence)
    if last.swap >= _LEAST:
        sentences.append(f"In addition, {units.size(last.swap)} are swapped out.")
    sentences += _limit(residence)
    return ResidenceVerdict(cause=cause, sentences=sentences, remedies=remedies)


def _is_large(moment: Taken, name: str) -> bool:
    part: int = getattr(moment.parts, name)
    return part >= _LEAST and part >= LARGE * moment.resident


def _pinned(case: _Case) -> _Answer:
    pin = case.residence.last.pin
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
    if case.residence.allocator == "jemalloc":
        slow = case.residence.background is False
        why = "; it returns them only while it is called, as its background thread is off" if slow else ""
        return case.answer(
            f"{case.of} are dirty pages that jemalloc keeps for reuse{why}.",
            remedies=[
                Remedy(what="jemalloc's background thread, which returns them", environment=_BACKGROUND)
            ],
        )
    if case.residence.allocator == "tcmalloc":
        return case.answer(
            f"{case.of} are free pages that tcmalloc keeps for reuse.",
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
    heaps = case.residence.last.heaps
    if heaps is None:
        return [f"{case.of} are free pages in the heaps that glibc makes for threads."]
    number = "1 heap" if heaps.number == 1 else f"{units.whole(heaps.number)} heaps"
    where = f"{units.size(heaps.whole)} between live blocks, {units.size(heaps.top)} at the top"
    return [
        f"{case.of} are free pages in {number} that glibc makes for threads: {where}.",
        f"malloc_trim(0) would return {units.size(heaps.trim)} of all heaps; it leaves the tops of these.",
    ]


def _cached(case: _Case) -> _Answer:
    heaps = case.residence.last.heaps
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
    if case.residence.allocator == "mimalloc":
        return case.answer(
            f"{case.of} are mimalloc's: it reports what it has mapped, but not how much of it is live."
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
    sentences = [f"{case.of} are live: the program allocated them and has not freed them."]
    moments = case.residence.moments
    before = moments[len(moments) // 2].parts.live
    if before and case.part > _GROWTH * before:
        grown = units.size(case.part - before)
        sentences.append(f"They grew by {grown} in the second half of the time: a cache, or a leak.")
    return case.answer(*sentences)


def _other(case: _Case) -> _Answer:
    if not case.residence.last.said:
        return case.answer(
            f"{case.of} are anonymous mappings: an allocator's, or the program's own.",
            "From outside these cannot be told apart.",
        )
    return case.answer(
        f"{case.of} are anonymous memory of no owner that reap recognises.",
        "It is the program's own mmap, or that of an allocator or runtime that reap does not know.",
    )


def _is_copied(moment: Taken) -> bool:
    return moment.copied >= _LEAST and moment.copied >= LARGE * moment.resident


def _copied(residence: Residence) -> _Answer:
    case = _Case(residence, residence.last.copied)
    parts = residence.last.parts
    how = runtimes.COPIED["python" if _most(residence.last) == "python" or parts.python >= _LEAST else ""]
    return case.answer(
        f"At most {case.of} were shared with the parent after a fork, and are copies now.",
        "A page is copied when either process writes to it.",
        remedies=[Remedy(what=f"{how} ({runtimes.UNTRIED})")],
    )


def _limit(residence: Residence) -> list[str]:
    group = residence.cgroup
    if group is None:
        return []
    current, limit = units.size(group.current), units.size(group.limit)
    return [f"Its cgroup has {current} of the limit of {limit}, page cache included."]


def _stack(case: _Case) -> _Answer:
    fewer = Remedy(what=f"fewer threads, or smaller stacks (ulimit -s) ({runtimes.UNTRIED})")
    below = Remedy(
        what=f"call madvise(MADV_DONTNEED) on what lies below the stack pointer ({runtimes.UNTRIED})"
    )
    return case.answer(
        f"{case.of} are stacks of threads.",
        *runtimes.stack_sentences(case.residence.last),
        remedies=[fewer, below] if case.residence.last.below else [fewer],
    )


def _owned(name: str) -> Callable[[_Case], _Answer]:
    def answer(case: _Case) -> _Answer:
        remedies = [Remedy(what=what, environment=of) for what, of in runtimes.remedies(name)]
        return case.answer(f"{case.of} are {runtimes.OF[name]}.", runtimes.why(name), remedies=remedies)

    return answer


def _plain(name: str) -> Callable[[_Case], _Answer]:
    return lambda case: case.answer(f"{case.of} are {NAMES[name]}. No allocator changes that.")


_RULES: dict[str, Callable[[_Case], _Answer]] = {
    "pinned": _pinned,
    "lazy_free": _lazy,
    "held": _held,
    "top": _top,
    "inside": _inside,
    "heap": _heap,
    "cached": _cached,
    "live": _live,
    **{name: _owned(name) for name in runtimes.OWNED},
    "other": _other,
    "shared": _plain("shared"),
    "files": _plain("files"),
    "written": _plain("written"),
    "stack": _stack,
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
    """What was there at the most, where the end says little of it."""
    largest = residence.largest
    if largest.resident - residence.last.resident < max(_LEAST, largest.resident * (1 - _KEPT)):
        return []
    name = _most(largest)
    part = units.size(getattr(largest.parts, name))
    size = units.size(largest.resident)
    when = f"{units.duration(largest.seconds)} after the start"
    return [f"At peak it was {size}, {when}; the largest part, {part}, was {NAMES[name]}."]


def _most(moment: Taken) -> str:
    return max(Parts.__struct_fields__, key=lambda name: getattr(moment.parts, name))


def _nothing(residence: Residence) -> _Answer:
    last = residence.last
    size = units.size(last.resident)
    what = "memory (PSS)" if residence.processes > 1 else "resident memory"
    return [f"Nothing stands out in {size} of {what}; most of it is {NAMES[_most(last)]}."], []
