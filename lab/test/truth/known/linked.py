"""Allocators that are linked into the program: no preload replaces them, stripped files do not name them."""

from known.records import Known, Truth

_TRUTH = Truth(
    gain=False,
    conclusions=("allocate less", "inconclusive"),
    causes=("many allocations",),
    never=("tcache overflow", "arena lock", "brk thrash", "mmap thrash", "placement", "a lock of its own"),
)
"""Half and more of the time is the allocator's, which nothing from outside changes. So `leave it alone` is
false, too."""

CASES = (
    Known(
        "linked.rs",
        "vectors",
        "boxed vectors of random lives; jemalloc is its global allocator",
        _TRUTH,
        linked="prefixed",
    ),
    Known(
        "linked.rs",
        "scripts",
        "the syntax tree of a script, built and dropped for each run; jemalloc is its global allocator",
        _TRUTH,
        report="Hans-Halverson/brimstone#165",
        linked="prefixed",
        stripped=True,
    ),
    Known(
        "linked.cpp",
        "pool",
        "small vectors of random lives; jemalloc is linked in as malloc, and a preload does not replace it",
        _TRUTH,
        report="jemalloc/jemalloc#2727",
        linked="jemalloc",
    ),
    Known(
        "linked.cpp",
        "fields",
        "a store that makes a value for each field it overwrites; jemalloc is linked in under its own names",
        _TRUTH,
        report="redis/redis#15096",
        linked="prefixed",
        ci=True,
    ),
    Known(
        "linked.cpp",
        "ledger",
        "two threads decode entries into vectors of their own; jemalloc is linked in, symbols are removed",
        _TRUTH,
        report="anza-xyz/agave#1250",
        linked="jemalloc",
        stripped=True,
    ),
    Known(
        "linked.cpp",
        "passes",
        "a compiler's pass makes nodes and drops them; mimalloc is linked in",
        _TRUTH,
        report="WebAssembly/binaryen#7378",
        linked="mimalloc",
    ),
    Known(
        "linked.cpp",
        "ledger",
        "two threads decode entries into vectors of their own; mimalloc is linked in, symbols are removed",
        _TRUTH,
        report="llvm/circt#8858",
        linked="mimalloc",
        stripped=True,
        ci=True,
    ),
)
