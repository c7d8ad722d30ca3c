"""Threads that wait for one that is inside malloc or free: an allocator that is faster lets them go on."""

from known.records import Known, Truth

_NEVER = ("tcache overflow", "kernel input and output", "garbage collection", "network", "disk")


def _waits(*, never: tuple[str, ...] = (), causes: tuple[str, ...] = ()) -> Truth:
    return Truth(
        gain=True,
        conclusions=("switch the allocator", "allocate less", "inconclusive"),
        causes=(*causes, "large blocks", "arena lock", "many allocations", "page faults"),
        never=(*_NEVER, *never),
        metric="wall",
    )


CASES = (
    Known(
        "waiting.cpp",
        "producer",
        "one thread makes messages, two free them, and each waits for the other",
        _waits(never=("a lock of its own",)),
        report="zeromq/libzmq#3631",
        ci=True,
    ),
    Known(
        "waiting.cpp",
        "counters",
        "queries that end free their memory under the lock of their group",
        _waits(causes=("a lock of its own",)),
        report="ClickHouse/ClickHouse#43586",
    ),
    Known(
        "waiting.cpp",
        "eviction",
        "a cache that makes and frees its entries under its lock",
        _waits(causes=("a lock of its own",)),
        report="apache/doris#1826, cockroachdb/pebble#2774",
    ),
    Known(
        "waiting.cpp",
        "teardown",
        "the main thread waits for one that builds and frees a list of many parts",
        _waits(never=("a lock of its own",)),
        report="msoos/cryptominisat#318",
    ),
    Known(
        "waiting.cpp",
        "loader",
        "a trainer waits for the samples that a loader makes",
        _waits(never=("a lock of its own",)),
    ),
)
