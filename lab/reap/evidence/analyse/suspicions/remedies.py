"""What may be done about each cause: what can be tried on the program as it is, and what a person does."""

from reap.allocators.remedies import table as of_memory
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import Metric, Remedy
from reap.launch import collectors

_KEEP = "glibc.malloc.trim_threshold=536870912:glibc.malloc.mmap_threshold=33554432"
"""Both, since setting one ends the adjustment of the other; the second is the largest that glibc takes."""
_KEEP_ALL = "glibc.malloc.trim_threshold=2147483648:glibc.malloc.mmap_max=0"

_TUNABLES = "GLIBC_TUNABLES"

HUGE_PAGES, LARGER_CACHE = "huge pages", "larger thread caches"
"""Names that the judge knows, since each tells two causes apart."""


def probes(facts: WallFacts, *names: str) -> list[str]:
    """Preloads that take a cause away, by their names; none where nothing can be preloaded."""
    return [] if facts.wall.irreplaceable else [f"price: {name}" for name in names]


def larger_cache(facts: WallFacts, *, metric: Metric = "cpu") -> list[Remedy]:
    """For batches that overflow a thread's cache."""
    if not facts.on_glibc or facts.large_blocks > 0.5:
        return []  # the tunable raises how many blocks are kept, and not how large ones
    return [
        Remedy(
            name=LARGER_CACHE,
            environment={_TUNABLES: "glibc.malloc.tcache_count=1000"},
            note="each thread keeps more free blocks",
            metric=metric,
        )
    ]


def keep_memory(facts: WallFacts, *, mappings: bool) -> list[Remedy]:
    """For memory that goes back and comes again; `mappings` where blocks are mapped one by one."""
    if not facts.on_glibc:
        return []
    keep = Remedy(
        name="keep freed memory", environment={_TUNABLES: _KEEP}, note="blocks above 32 MiB are still mapped"
    )
    never = Remedy(
        name="keep freed memory, map no block",
        environment={_TUNABLES: _KEEP_ALL},
        note="free memory is never returned to the OS",
    )
    # The largest threshold is below some blocks, and a program's own mallopt overrides it; this holds always.
    return [never, keep] if mappings else [keep]


def clear_less() -> list[Remedy]:
    """For blocks that are cleared or copied; needs a person."""
    return [
        Remedy(
            name="clear and copy less",
            note="use malloc where the program overwrites the whole block, keep blocks and clear only "
            "what was used, reserve room before realloc",
        )
    ]


def huge_pages(facts: WallFacts) -> list[Remedy]:
    """For pages that are touched for the first time."""
    if not facts.on_glibc:
        return []
    return [
        Remedy(
            name=HUGE_PAGES,
            environment={_TUNABLES: "glibc.malloc.hugetlb=1"},
            note="where the kernel provides huge pages",
        )
    ]


def allocate_less() -> list[Remedy]:
    """What changes the program, and needs a person."""
    return [
        Remedy(name="a region for each request", note="blocks that die together are freed at once"),
        Remedy(name="materialise less", note="objects that are not created cost nothing"),
    ]


def reuse() -> list[Remedy]:
    """For large buffers."""
    return [Remedy(name="reuse the buffer", note="its pages stay")]


def trim() -> list[Remedy]:
    """For memory that is free below a block that is not, the likeliest to help first."""
    return [
        Remedy(
            name="call malloc_trim(0) when work has ended", note="in the program's code", metric="resident"
        ),
        _of_memory("jemalloc, purging in the background", "it takes effect some seconds later"),
        _of_memory("mimalloc, purging at once", "with more page faults"),
        Remedy(
            name="trim the heap's top sooner",
            environment={_TUNABLES: "glibc.malloc.trim_threshold=131072"},
            note="if no block in use lies above the free memory",
            metric="resident",
        ),
    ]


def _of_memory(name: str, note: str) -> Remedy:
    known = of_memory.named(name)
    return Remedy(
        name=name, allocator=known.allocator, environment=known.environment, note=note, metric="resident"
    )


def not_lazily(facts: WallFacts) -> list[Remedy]:
    """For pages that are resident until somebody else needs them."""
    go = facts.wall.allocator == "go"
    return [
        Remedy(
            name="give pages back at once",
            environment={"GODEBUG": "madvdontneed=1"} if go else {"MALLOC_CONF": "muzzy_decay_ms:0"},
            note="the kernel would reclaim them anyway when it must",
            metric="resident",
        )
    ]


def collect_less(kind: str) -> list[Remedy]:
    """For a collector's time."""
    if kind == "go":
        return [
            Remedy(
                name="collect less often",
                environment={"GOGC": "400"},
                note="the heap may grow to five times the live memory",
            )
        ]
    if kind == "v8":
        return [
            Remedy(
                name="a larger space for young objects",
                environment={"NODE_OPTIONS": "--max-semi-space-size=64"},
                note="a thread's young objects may take up to 192 MiB",
            )
        ]
    if kind == "jvm":
        return [Remedy(name="a larger heap (-Xmx)", note="the collector runs when the heap is full")]
    return [
        Remedy(
            name="collect cycles rarely",
            hook="cpython",
            how=collectors.RARELY,
            note="reference counting still frees everything outside cycles",
        ),
        Remedy(name="gc.freeze() after start", note="what lives for ever is not searched again"),
    ]


def by_hand(name: str, note: str, *, metric: Metric = "wall") -> list[Remedy]:
    """Advice for what no allocator changes."""
    return [Remedy(name=name, note=note, metric=metric)]
