"""Takes resident memory apart: what the kernel counts, told apart by what the allocator says of itself.

The kernel's figures are exact, the allocator's are its own, and the two are of moments up to an interval
apart. No part is allowed more than what is left of the memory it lies in, so that the parts always add up;
memory that was allocated and never written to is not resident, and where there is much of it `live` is what
fits.
"""

from bisect import bisect_right
from collections.abc import Sequence

from msgspec.structs import replace

from reap.base.records import Estimate
from reap.launch.process import settled
from reap.launch.process.records import OWNERS, Kernel, Moment, Said, Walk
from reap.recording.analyse.trend import rise
from reap.recording.records import Point
from reap.rss.holdings import HOLDS, Pool, with_linked, without_foreign
from reap.rss.records import Heaps, Parts, Pin, Taken
from reap.rss.tree import as_parent

MOST = 2000
"""Moments that a result keeps."""

_STALE = 0.05
"""The part of the heap that may have changed since it was walked."""


def take_apart(moment: Moment, origin: Taken | None = None) -> Taken:
    """One moment's parts. Pure arithmetic.

    `origin` is the process that it was forked from: what has no allocator's word is divided as its memory is.
    """
    said = moment.said
    written = _without_zeros(moment.kernel)
    kernel = without_foreign(written, said, moment.linked)
    asked = said is not None and bool(said.values) and not said.stopped  # and not of long ago
    known = asked
    if not asked and origin is not None and origin.said:
        sizes, owners = as_parent(origin, kernel)
        parts = _with_the_rest(kernel, **sizes)
    else:
        parts = _SOURCES[said.kind](kernel, said) if said is not None and asked else _by_kernel(kernel)
        parts, owners = with_linked(parts, moment.linked, serving=asked)
        known = asked or any(each.asked for each in owners)
    zeros = moment.kernel.heap + moment.kernel.anonymous - written.heap - written.anonymous
    parts = replace(parts, zeros=zeros)
    return Taken(
        seconds=moment.seconds,
        resident=sum(getattr(parts, name) for name in Parts.__struct_fields__),
        parts=parts,
        swap=kernel.swap,
        huge=kernel.huge,
        proportional=moment.shares.resident if moment.shares is not None else 0,
        private=kernel.private,
        inherited=kernel.inherited,
        below=kernel.below,
        copied=moment.copied,
        said=known,
        pin=_pin(said.walk) if said is not None and parts.pinned else None,
        heaps=_heaps(parts, said) if said is not None and asked and said.kind == "glibc" else None,
        linked=owners,
    )


def with_recorded(moments: Sequence[Taken], live: Sequence[Point]) -> list[Taken]:
    """Fills in live bytes from a recording where an allocator did not report them.

    `live` is of the same run and in order of time. Heap memory that is not taken apart is live up to that
    recorded level; the rest of it stays unknown.
    """
    times = [point.seconds for point in live]
    taken = []
    for moment in moments:
        at = bisect_right(times, moment.seconds)
        level = round(live[at - 1].bytes) if at else 0
        more = min(max(level - moment.parts.live, 0), moment.parts.heap)
        parts = replace(moment.parts, live=moment.parts.live + more, heap=moment.parts.heap - more)
        taken.append(replace(moment, parts=parts))
    return taken


def _pin(walk: Walk | None) -> Pin | None:
    return Pin(blocks=walk.above_blocks, bytes=walk.above_bytes, stretch=walk.largest) if walk else None


def growth(moments: Sequence[Taken]) -> dict[str, Estimate]:
    """By part, how fast it grows in bytes a second, with its 95 % CI, the fastest first.

    The least-squares slope of the second half (`recording.analyse.trend`, as `growth` has it) of those
    parts that rose steadily until the end. Nothing of a few moments.
    """
    half = (moments[-1].seconds - moments[0].seconds) / 2
    found = {}
    for name in Parts.__struct_fields__:
        levels = [Point(seconds=each.seconds, bytes=float(getattr(each.parts, name))) for each in moments]
        risen = rise(levels) if any(each.bytes for each in levels) else None
        if risen is not None:
            found[name] = Estimate(value=risen.value / half, low=risen.low / half, high=risen.high / half)
    return dict(sorted(found.items(), key=lambda each: -each[1].value))


def thinned(moments: Sequence[Taken], most: int = MOST) -> list[Taken]:
    """At most so many, by `launch.process.settled.thinned`: the largest stays."""
    return settled.thinned(moments, most, lambda each: each.resident)


def _by_kernel(kernel: Kernel) -> Parts:
    """Without the allocator's word only [heap] is known to be its, and not what it holds there."""
    arenas = min(kernel.arenas, kernel.anonymous)
    return _with_the_rest(kernel, heap=kernel.heap + arenas, other=kernel.anonymous - arenas)


def _with_the_rest(kernel: Kernel, **parts: int) -> Parts:
    return Parts(
        **parts,
        lazy_free=kernel.lazy_free,
        stack=kernel.stack,
        files=kernel.files,
        written=kernel.written,
        shared=kernel.shared,
        **{name: getattr(kernel, name) for name in OWNERS},
    )


def _glibc(kernel: Kernel, said: Said) -> Parts:
    """Every heap by its walk; blocks with a mapping each by what is touched of those that were found.

    A heap grows for blocks that do not fit: what it has grown by since the allocator said how much is free is
    live.
    """
    of, walk = said.values, said.walk
    heap, anonymous = Pool(kernel.heap), Pool(kernel.anonymous)
    if walk is None or not _of_now(walk, of):
        return _glibc_by_sums(kernel, of, walk)
    top, pinned = heap.take(walk.top_resident), heap.take(walk.whole_resident)
    live, inside = _used(heap, walk)
    held = unknown = 0
    if said.others is not None and said.around is not None:
        others = said.others
        held = anonymous.take(others.whole_resident + others.top_resident)
        elsewhere, beside = _used(anonymous, others)
        live, inside = live + elsewhere, inside + beside
        unknown = anonymous.take(said.around.unread_resident)
        live += anonymous.take(said.around.mapped_resident)
        live += anonymous.take(of["mapped"] - said.around.mapped)
    else:
        live += anonymous.take(of["mapped"])
        arenas = Pool(of["arena"] - walk.bytes)
        live += anonymous.take(arenas.take(max(walk.used - walk.live, 0)))
        unknown = anonymous.take(arenas.rest())
    live += heap.rest()
    cached, fastbins = _not_live(said)
    of_live = Pool(live)
    cached, fastbins = of_live.take(cached), of_live.take(fastbins)
    return _with_the_rest(
        kernel,
        live=of_live.rest(),
        inside=inside,
        cached=cached,
        pinned=pinned,
        top=top,
        heap=fastbins + unknown,
        held=held,
        other=anonymous.rest(),
    )


def _glibc_by_sums(kernel: Kernel, of: dict[str, int], walk: Walk | None) -> Parts:
    """Parts by glibc's totals: how much is live is known, its places are not."""
    heap, anonymous = Pool(kernel.heap), Pool(kernel.anonymous)
    arenas = Pool(of["arena"] - (walk.bytes if walk else kernel.heap))
    live = anonymous.take(of["mapped"])
    live += anonymous.take(arenas.take(max(walk.used - walk.live, 0) if walk else 0))
    free = anonymous.take(arenas.rest())
    live += heap.take(of["used"])
    free += heap.take(of["free"])
    return _with_the_rest(kernel, live=live + heap.rest(), heap=free, other=anonymous.rest())


def _used(pool: Pool, walk: Walk) -> tuple[int, int]:
    """Resident bytes of blocks in use in the heaps, and of what is free or bookkeeping in their pages."""
    live = pool.take(walk.live - walk.untouched)
    return live, pool.take(walk.resident - live - walk.whole_resident - walk.top_resident)


def _not_live(said: Said) -> tuple[int, int]:
    """Of what looks in use to the walks: bytes in thread caches, and in fastbins."""
    walk, fastbins = said.walk, said.values.get("fastbins", 0)
    if said.around is not None:
        return said.around.cached, max(fastbins - said.around.fast, 0)
    return 0, max(walk.live - walk.used, 0) if walk else 0


def _heaps(parts: Parts, said: Said) -> Heaps | None:
    """Heaps by current walks; None without them. Pages are limited to resident ones, as the parts are."""
    walk, others, around = said.walk, said.others, said.around
    if walk is None or others is None or around is None or not _of_now(walk, said.values):
        return None
    whole = min(others.whole_resident, parts.held)
    return Heaps(
        number=around.heaps,
        whole=whole,
        top=parts.held - whole,
        caches=around.caches,
        trim=parts.pinned + parts.top + whole,
    )


def _of_now(walk: Walk, of: dict[str, int]) -> bool:
    """Whether the heap is about what it was when it was walked."""
    changed = abs(of["used"] - walk.used) + abs(of["arena"] - walk.arena)
    return changed <= _STALE * max(of["arena"], walk.arena)


def _without_zeros(kernel: Kernel) -> Kernel:
    """Kernel figures without zero pages inside huge pages: memory allocated and never written to."""
    heap = max(kernel.heap - kernel.heap_zeros, 0)
    return replace(kernel, heap=heap, anonymous=max(kernel.anonymous - kernel.anonymous_zeros, 0))


def _serving(kernel: Kernel, said: Said) -> Parts:
    """An allocator other than glibc that serves malloc."""
    pool = Pool(kernel.heap + kernel.anonymous)
    holds = HOLDS[said.kind](said.values, pool)
    return _with_the_rest(kernel, **holds, other=pool.rest())


_SOURCES = {"glibc": _glibc} | dict.fromkeys(HOLDS, _serving)
