"""CPU time that is the kernel's, for input and output in small pieces or its own caches of names; or a
collector's."""

from known.records import Known, Truth

_TRUTH = Truth(
    gain=False,
    conclusions=("leave it alone",),
    causes=("kernel input and output",),
    never=(
        "tcache overflow",
        "large blocks",
        "arena lock",
        "brk thrash",
        "mmap thrash",
        "page faults",
        "clearing and copying",
        "many allocations",
        "placement",
        "growing memory",
        "a lock of its own",
    ),
)

CASES = (
    Known("kernel.c", "missing", "a lookup for each of many names that do not exist", _TRUTH),
    Known(
        "kernel.c",
        "scratch",
        "a check for each query whether its scratch file is there, by a new name",
        _TRUTH,
        report="apache/druid#7508",
    ),
    Known(
        "kernel.c",
        "bytes",
        "a file that is read a byte at a time",
        _TRUTH,
        report="mtlynch/zenith#26",
        ci=True,
    ),
    Known("kernel.c", "lines", "a table whose lines are flushed one by one", _TRUTH, report="nasa/trick#766"),
    Known(
        "kernel.c",
        "terminal",
        "answers of a terminal that are read through a pipe without a buffer",
        _TRUTH,
        report="pexpect/ptyprocess#3",
    ),
    Known(
        "kernel.c",
        "journal",
        "the status of a file, asked for each entry that is printed",
        _TRUTH,
        report="systemd/systemd#33085",
    ),
    Known(
        "collector.js",
        "rounds",
        "objects that live for a round beside a heap that stays: V8's collector takes part of the time",
        Truth(
            gain=None,
            # A larger young generation took 19 % less CPU time by hand, and less in 14 of 15 pairs.
            conclusions=(
                "leave it alone",
                "allocate less",
                "switch the allocator",
                "change a setting",
                "inconclusive",
            ),
            causes=("garbage collection",),
            never=("tcache overflow", "large blocks", "arena lock", "placement", "a lock of its own", "disk"),
        ),
    ),
)
