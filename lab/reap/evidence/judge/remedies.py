"""What may be done about each cause, with what to expect of it. What to expect comes from the facts alone."""

from reap.base import units
from reap.base.records import Estimate
from reap.evidence.judge.facts import WallFacts
from reap.evidence.judge.records import Metric, Remedy

_KEEP = "glibc.malloc.trim_threshold=536870912:glibc.malloc.mmap_threshold=33554432"
"""Both, since setting one ends the adjustment of the other; the second is the largest that glibc takes."""
_KEEP_ALL = "glibc.malloc.trim_threshold=2147483648:glibc.malloc.mmap_max=0"

_TUNABLES = "GLIBC_TUNABLES"


def larger_cache(facts: WallFacts, saves: Estimate, *, metric: Metric = "cpu") -> list[Remedy]:
    """For batches that overflow a thread's cache."""
    if not facts.on_glibc or facts.large_blocks > 0.5:
        return []  # the tunable raises how many blocks are kept, and not how large ones
    return [
        Remedy(
            name="larger thread caches",
            environment={_TUNABLES: "glibc.malloc.tcache_count=1000"},
            expect=less(saves, metric),
            metric=metric,
        )
    ]


def keep_memory(facts: WallFacts, saves: Estimate, *, mappings: bool) -> list[Remedy]:
    """For memory that goes back and comes again; `mappings` where blocks are mapped one by one."""
    if not facts.on_glibc:
        return []
    keep = Remedy(
        name="keep freed memory",
        environment={_TUNABLES: _KEEP},
        expect=f"{less(saves)}; peak memory may grow",
    )
    never = Remedy(
        name="keep freed memory, map no block",
        environment={_TUNABLES: _KEEP_ALL},
        expect=f"{less(saves)}; peak memory may grow, and free memory is never returned to the OS",
    )
    # The largest threshold is below some blocks, and a program's own mallopt overrides it; this holds always.
    return [never, keep] if mappings else [keep]


def other_allocators(facts: WallFacts, saves: Estimate, *, metric: Metric = "cpu") -> list[Remedy]:
    """Allocators with caches of their own for each thread or processor. What one does only a trial tells."""
    if facts.wall.irreplaceable:
        return []
    return [
        Remedy(name=name, allocator=name, expect=f"{at_most(saves, metric)}; it may take more", metric=metric)
        for name in ("jemalloc", "tcmalloc", "mimalloc")
    ]


def clear_less(saves: Estimate) -> list[Remedy]:
    """For blocks that are cleared or copied; needs a person."""
    return [
        Remedy(
            name="clear and copy less",
            expect="use malloc where the program overwrites the whole block, keep blocks and clear only "
            f"what was used, reserve room before realloc: {less(saves)}",
        )
    ]


def huge_pages(facts: WallFacts, saves: Estimate) -> list[Remedy]:
    """For pages that are touched for the first time."""
    if not facts.on_glibc:
        return []
    return [
        Remedy(
            name="huge pages",
            environment={_TUNABLES: "glibc.malloc.hugetlb=1"},
            expect=f"{less(saves)}, where the kernel provides huge pages; peak memory may grow",
        )
    ]


def allocate_less(facts: WallFacts, saves: Estimate, *, metric: Metric = "cpu") -> list[Remedy]:
    """What changes the program, and needs a person."""
    most = Estimate(value=facts.memory_part, low=saves.low, high=min(1.0, max(saves.high, facts.memory_part)))
    return [
        Remedy(
            name="a region for each request",
            expect=f"blocks that die together are freed at once: {less(most, metric)}",
        ),
        Remedy(
            name="materialise less",
            expect=f"objects that are not created cost nothing: up to all {units.percent(facts.memory_part)}",
        ),
    ]


def reuse(saves: Estimate) -> list[Remedy]:
    """For large buffers."""
    return [Remedy(name="reuse the buffer", expect=f"its pages stay: {less(saves)}")]


def trim(saves: Estimate) -> list[Remedy]:
    """For memory that is free below a block that is not, the likeliest to help first."""
    return [
        Remedy(
            name="call malloc_trim(0) when work has ended",
            expect=less(saves, "resident"),
            metric="resident",
        ),
        Remedy(
            name="jemalloc, purging in the background",
            allocator="jemalloc",
            environment={"MALLOC_CONF": "background_thread:true,dirty_decay_ms:1000,muzzy_decay_ms:0"},
            expect=f"{less(saves, 'resident')}, some seconds later",
            metric="resident",
        ),
        Remedy(
            name="mimalloc, purging at once",
            allocator="mimalloc",
            environment={
                "MIMALLOC_PURGE_DELAY": "0",
                "MIMALLOC_SEGMENT_DECOMMIT_DELAY": "0",
            },  # versions differ
            expect=f"{less(saves, 'resident')}, and more page faults",
            metric="resident",
        ),
        Remedy(
            name="trim the heap's top sooner",
            environment={_TUNABLES: "glibc.malloc.trim_threshold=131072"},
            expect=f"up to {units.percent(saves.high)} less memory, if no block in use lies above it",
            metric="resident",
        ),
    ]


def not_lazily(facts: WallFacts, saves: Estimate) -> list[Remedy]:
    """For pages that are resident until somebody else needs them."""
    go = facts.wall.allocator == "go"
    return [
        Remedy(
            name="give pages back at once",
            environment={"GODEBUG": "madvdontneed=1"} if go else {"MALLOC_CONF": "muzzy_decay_ms:0"},
            expect=f"{less(saves, 'resident')}; the kernel would reclaim them anyway when it must",
            metric="resident",
        )
    ]


def collect_less(kind: str, saves: Estimate) -> list[Remedy]:
    """For a collector's time."""
    if kind == "go":
        return [
            Remedy(
                name="collect less often",
                environment={"GOGC": "400"},
                expect=f"{less(saves)}; the heap may grow to five times the live memory",
            )
        ]
    if kind == "v8":
        return [
            Remedy(
                name="a larger space for young objects",
                environment={"NODE_OPTIONS": "--max-semi-space-size=64"},
                expect=f"{less(saves)}; a thread's young objects may take up to 192 MiB",
            )
        ]
    if kind == "jvm":
        return [
            Remedy(
                name="a larger heap (-Xmx)",
                expect=f"{less(saves)}; the collector runs when the heap is full",
            )
        ]
    return [
        Remedy(
            name="gc.freeze() after start, or a higher gc.set_threshold()",
            expect=f"{less(saves)}; reference counting still frees everything outside cycles",
        )
    ]


def by_hand(name: str, expect: str, *, metric: Metric = "wall") -> list[Remedy]:
    """Advice for what no allocator changes."""
    return [Remedy(name=name, expect=expect, metric=metric)]


def at_most(saves: Estimate, metric: Metric = "cpu") -> str:
    """What to expect of what was not tried: nothing is known but the most that its cause takes."""
    return less(Estimate(value=saves.value, low=0.0, high=saves.high), metric)


def less(saves: Estimate, metric: Metric = "cpu") -> str:
    """What to expect, as words."""
    what = {"cpu": "CPU time", "wall": "time", "peak_resident": "peak memory"}.get(metric, "memory")
    if saves.high < 0.005:
        return f"hardly less {what}"
    if saves.low < 0.005:
        return f"up to {units.percent(saves.high)} less {what}"
    return f"{units.percent_span(saves.low, saves.high)} less {what}"
