"""Remedies suspected to help, cause by cause; the table describes each one."""

from reap.allocators.remedies import table
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import Metric, Remedy

HUGE_PAGES, LARGER_CACHE = "huge pages", "larger thread caches"
"""Names that the judge knows, since each tells two causes apart."""

_COLLECTORS = {
    "go": "collect less often",
    "v8": "a larger space for young objects",
    "jvm": "a larger heap (-Xmx)",
}


def probes(facts: WallFacts, *names: str) -> list[str]:
    """Preloads that take a cause away, by their names; none where nothing can be preloaded."""
    return [] if facts.wall.irreplaceable else [f"price: {name}" for name in names]


def larger_cache(facts: WallFacts, *, metric: Metric = "cpu") -> list[Remedy]:
    """For batches that overflow a thread's cache."""
    if not facts.on_glibc or facts.large_blocks > 0.5:
        return []  # the tunable raises how many blocks are kept, and not how large ones
    return [_known(LARGER_CACHE, metric=metric)]


def keep_memory(facts: WallFacts, *, mappings: bool) -> list[Remedy]:
    """For memory that goes back and comes again; `mappings` where blocks are mapped one by one."""
    if not facts.on_glibc:
        return []
    keep, never = _known("keep freed memory"), _known("keep freed memory, map no block")
    return [never, keep] if mappings else [keep]


def clear_less() -> list[Remedy]:
    """For blocks that are cleared or copied; needs a person."""
    return [_known("clear and copy less")]


def huge_pages(facts: WallFacts) -> list[Remedy]:
    """For pages that are touched for the first time."""
    return [_known(HUGE_PAGES)] if facts.on_glibc else []


def allocate_less() -> list[Remedy]:
    """For what only a change of the program helps, and needs a person."""
    return [_known("a region for each request"), _known("materialise less")]


def reuse() -> list[Remedy]:
    """For large buffers."""
    return [_known("reuse the buffer")]


def trim() -> list[Remedy]:
    """For memory that is free below a block that is not, the likeliest to help first."""
    return [
        Remedy(name=table.named("malloc_trim once").how, note="in the program's code", metric="resident"),
        _known("jemalloc, purging in the background", metric="resident"),
        _known("mimalloc, purging at once", metric="resident"),
        _known("trimming the top sooner", metric="resident"),
    ]


def not_lazily(facts: WallFacts) -> list[Remedy]:
    """For pages that are resident until somebody else needs them."""
    go = facts.wall.allocator == "go"
    name = "returning pages of Go at once" if go else "returning lazily freed pages at once"
    return [_known(name, metric="resident")]


def collect_less(kind: str) -> list[Remedy]:
    """For a collector's time."""
    if kind in _COLLECTORS:
        return [_known(_COLLECTORS[kind])]
    return [_known("collect cycles rarely"), _known("gc.freeze() after start")]


def by_hand(name: str, note: str, *, metric: Metric = "wall") -> list[Remedy]:
    """Advice for what no allocator changes."""
    return [Remedy(name=name, note=note, metric=metric)]


def _known(name: str, *, metric: Metric = "cpu") -> Remedy:
    """The remedy of that name, judged by such data."""
    known = table.named(name)
    return Remedy(
        name=name,
        note=known.note or known.how,
        environment=known.environment,
        allocator=known.allocator,
        metric=metric,
        hook=known.hook,
        how=known.how if known.hook else "",
    )
