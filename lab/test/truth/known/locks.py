"""Locks that the program holds around malloc, or beside it: separate arenas give nothing."""

from known.records import Known, Truth

_NEVER = ("arena lock", "tcache overflow", "brk thrash", "mmap thrash", "page faults", "growing memory")
_TRUTH = Truth(
    gain=None,
    conclusions=("leave it alone", "allocate less", "switch the allocator", "inconclusive"),
    causes=("a lock of its own",),
    never=_NEVER,
    metric="wall",
)
"""How often threads meet at the lock depends on the machine, and with it what an allocator gives."""

CASES = (
    Known(
        "locks.cpp",
        "wrapper",
        "a runtime's wrapper takes one mutex around malloc and free",
        _TRUTH,
        report="flang-compiler/flang#460",
        ci=True,
    ),
    Known(
        "locks.cpp",
        "hooks",
        "hooks look each block up in a map of registered memory, under one lock",
        _TRUTH,
        report="openucx/ucx#1047",
    ),
    Known(
        "locks.cpp",
        "tracking",
        "a table of all live blocks, which one lock guards",
        _TRUTH,
        report="chapel-lang/chapel#18465",
    ),
    Known(
        "locks.cpp",
        "heap",
        "a heap of its own with lists of freed blocks, which one lock guards",
        Truth(
            gain=False,
            conclusions=("leave it alone", "inconclusive"),
            causes=("a lock of its own",),
            never=(*_NEVER, "many allocations"),
        ),
        report="frang75/nappgui_src#197",
    ),
    Known(
        "locks.cpp",
        "reservation",
        "each allocation is reserved against a limit, under one lock",
        _TRUTH,
        report="facebookincubator/velox#8569",
    ),
)
