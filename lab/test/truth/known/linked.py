"""Allocators that are linked into the program: stripped files do not name them."""

from dataclasses import replace

from known.records import Known, Truth

_STRIPPED = Truth(
    gain=False,
    conclusions=("inconclusive", "allocate less"),
    causes=("many allocations",),
    never=("tcache overflow", "arena lock", "brk thrash", "mmap thrash", "placement", "a lock of its own"),
)
"""Half and more of the time is the allocator's, which nothing from outside changes without its symbols. So
`leave it alone` is false, too."""
_JEMALLOC = replace(_STRIPPED, gain=True, conclusions=("switch the allocator", "allocate less"))
"""With symbols mimalloc takes its place, and gains."""
_STATIC = Truth(
    gain=True,
    conclusions=("change a setting",),
    causes=("tcache overflow",),
    never=("arena lock", "brk thrash", "mmap thrash", "placement", "a lock of its own"),
)
"""Larger thread caches gain, and a static program reads glibc's settings, too."""
_MIMALLOC = replace(_STRIPPED, gain=None, conclusions=("allocate less", "inconclusive"))
"""The fastest of all stands aside for others, and each jump costs."""

CASES = (
    Known(
        "linked.rs",
        "vectors",
        "boxed vectors of random lives; jemalloc is its global allocator",
        _JEMALLOC,
        linked="prefixed",
    ),
    Known(
        "linked.rs",
        "scripts",
        "the syntax tree of a script, built and dropped for each run; jemalloc is its global allocator",
        _STRIPPED,
        report="Hans-Halverson/brimstone#165",
        linked="prefixed",
        stripped=True,
    ),
    Known(
        "linked.cpp",
        "pool",
        "small vectors of random lives; jemalloc is linked in as malloc, and a preload does not replace it",
        _JEMALLOC,
        report="jemalloc/jemalloc#2727",
        linked="jemalloc",
    ),
    Known(
        "linked.cpp",
        "fields",
        "a store that makes a value for each field it overwrites; jemalloc is linked in under its own names",
        _JEMALLOC,
        report="redis/redis#15096",
        linked="prefixed",
        ci=True,
    ),
    Known(
        "linked.cpp",
        "ledger",
        "two threads decode entries into vectors of their own; jemalloc is linked in, symbols are removed",
        _STRIPPED,
        report="anza-xyz/agave#1250",
        linked="jemalloc",
        stripped=True,
    ),
    Known(
        "linked.cpp",
        "passes",
        "a compiler's pass makes nodes and drops them; mimalloc is linked in",
        _MIMALLOC,
        report="WebAssembly/binaryen#7378",
        linked="mimalloc",
    ),
    Known(
        "linked.cpp",
        "ledger",
        "two threads decode entries into vectors of their own; mimalloc is linked in, symbols are removed",
        _STRIPPED,
        report="llvm/circt#8858",
        linked="mimalloc",
        stripped=True,
        ci=True,
    ),
    Known(
        "heaps.cpp",
        "requests",
        "requests whose blocks come from a first-class heap of mimalloc, which is linked in",
        _STRIPPED,
        linked="mimalloc",
    ),
    Known(
        "linked.cpp",
        "pool",
        "small vectors of random lives; glibc's malloc is linked in statically, symbols are removed",
        _STATIC,
        linked="static",
        stripped=True,
    ),
)
