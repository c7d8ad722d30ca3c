"""What looks as if the thread caches were too small: calls that they never serve, blocks that another thread
frees, blocks that grow, and caches of the processor that miss."""

from known.records import Known, Truth

_ELSEWHERE = ("arena lock", "a lock of its own", "kernel input and output", "growing memory")

CASES = (
    Known(
        "calls.c",
        "batches",
        "a hundred blocks of one size for each request, freed together: here thread caches are too small",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting"),
            causes=("tcache overflow", "many allocations"),
            never=(*_ELSEWHERE, "brk thrash", "mmap thrash", "placement"),
        ),
    ),
    Known(
        "calls.c",
        "rows",
        "rows of an image from posix_memalign, which no thread cache serves",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less"),
            causes=("many allocations", "large blocks"),
            never=("tcache overflow", *_ELSEWHERE, "mmap thrash"),
        ),
        report="opencv/opencv#15544",
        ci=True,
    ),
    Known(
        "calls.c",
        "vectors",
        "four aligned vectors for each step of a simulation, from aligned_alloc",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting", "allocate less"),
            causes=("many allocations",),
            never=(*_ELSEWHERE, "brk thrash", "mmap thrash", "page faults"),
        ),
        report="BlueBrain/CoreNeuron#863",
    ),
    Known(
        "calls.c",
        "handoff",
        "messages that one thread decodes and another frees: their caches are empty and full",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less", "inconclusive"),
            causes=("arena lock", "many allocations"),
            never=("tcache overflow", "kernel input and output", "brk thrash", "mmap thrash"),
        ),
        report="jemalloc/jemalloc#1030",
        ci=True,
    ),
    Known(
        "calls.c",
        "append",
        "buffers that grow by just what is appended, and are copied each time",
        Truth(
            gain=True,
            conclusions=("allocate less", "switch the allocator", "inconclusive"),
            causes=("clearing and copying", "many allocations", "large blocks"),
            never=("tcache overflow", *_ELSEWHERE, "mmap thrash"),
        ),
        report="gnustep/libs-corebase#55",
    ),
    Known(
        "calls.c",
        "enlarge",
        "buffers of up to 96 KB that realloc enlarges by a page, which moves them",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting", "allocate less"),
            causes=("brk thrash", "page faults", "clearing and copying", "large blocks"),
            never=("tcache overflow", *_ELSEWHERE),
        ),
        report="TileDB-Inc/TileDB#1142",
    ),
    Known(
        "calls.c",
        "cold",
        "blocks among many that live, replaced in no order: each call misses the processor's caches",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less", "change a setting", "inconclusive"),
            causes=("many allocations", "placement"),
            never=(*_ELSEWHERE, "brk thrash", "mmap thrash"),
        ),
        report="gperftools/gperftools#951",
    ),
    Known(
        "calls.c",
        "oversized",
        "buffers of 33 MB and more, above the largest threshold that glibc takes by itself",
        Truth(
            gain=True,
            conclusions=("change a setting", "switch the allocator", "allocate less"),
            causes=("mmap thrash", "page faults", "large blocks"),
            never=("tcache overflow", "brk thrash", *_ELSEWHERE),
        ),
    ),
    Known(
        "calls.c",
        "brief",
        "a thread for each request, which does little but allocate and ends before it is sampled",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting", "allocate less"),
            causes=("large blocks", "many allocations", "brk thrash", "page faults"),
            never=("tcache overflow", "a lock of its own", "kernel input and output", "growing memory"),
        ),
    ),
    Known(
        "calls.c",
        "tables",
        "a table of 4 MB that calloc clears for each request, which uses few of its pages",
        Truth(
            gain=True,
            # A block that is mapped for itself is clear: -71 % with an mmap threshold of 128 KiB.
            conclusions=("switch the allocator", "change a setting"),
            causes=("clearing and copying",),
            never=("tcache overflow", "placement", *_ELSEWHERE),
        ),
        report="gperftools/gperftools#22",
    ),
    Known(
        "calls.c",
        "trimmed",
        "a thread that frees the buffers of each request, so that the end of its arena is returned each time",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting"),
            causes=("page faults", "brk thrash", "mmap thrash"),
            # A preload that only moves blocks keeps memory, too, and gains 64 %.
            never=("placement", "many allocations", "tcache overflow", *_ELSEWHERE),
        ),
    ),
)
