"""Kind 8: threads that live under a millisecond, which a sampler hardly sees."""

from reports.records import Report, Truth

_OVERFLOW = ("tcache overflow", "many allocations", "large blocks")

THREADS = (
    Report(
        "merkle",
        8,
        "each block is hashed by a thread of its own, all whose time is malloc's: AntelopeIO/spring#1124",
        Truth(True, ("switch the allocator", "allocate less"), _OVERFLOW),
        "threads.cpp",
        ci=True,
    ),
    Report(
        "requests",
        8,
        "a thread for each request, with a map of strings: libcpr/cpr#633",
        Truth(True, ("switch the allocator", "allocate less"), _OVERFLOW),
        "threads.cpp",
    ),
    Report(
        "buffers",
        8,
        "threads that grow a buffer to 1 MiB and end; other allocators take several times as long: "
        "jemalloc/jemalloc#1347",
        Truth(False, ("leave it alone",), never=("tcache overflow", "arena lock")),
        "threads.cpp",
    ),
    Report(
        "hidden",
        8,
        "threads that only compute: golang/go#40435",
        Truth(False, ("leave it alone",), never=("tcache overflow", "many allocations", "arena lock")),
        "threads.cpp",
        ci=True,
    ),
)
