"""Kind 7: one remedy gains much, and others, which look alike, gain nothing."""

from reports.records import Report, Truth

_MAPPED = ("mmap thrash", "page faults", "large blocks")

REMEDIES = (
    Report(
        "scattered",
        7,
        "a list made of blocks freed in random order: placement costs, not malloc: microsoft/mimalloc#101",
        Truth(
            True,
            ("switch the allocator",),
            ("placement",),
            never=("tcache overflow", "many allocations", "page faults", "tcache_count", "thresholds"),
        ),
        "remedies.cpp",
        ci=True,
    ),
    Report(
        "frames",
        7,
        "frames of 40 MiB, above the largest threshold that glibc takes: vespa-engine/vespa#27531",
        Truth(
            True,
            ("switch the allocator", "change a setting"),
            _MAPPED,
            never=("thresholds", "tcache overflow", "growing memory"),
        ),
        "remedies.cpp",
        ci=True,
    ),
    Report(
        "pinned",
        7,
        "the program pins the mmap threshold to 128 KiB, so that no threshold from outside helps: "
        "sigp/lighthouse#2937",
        Truth(
            True,
            ("switch the allocator", "change a setting"),
            _MAPPED,
            never=("thresholds", "tcache overflow"),
        ),
        "remedies.cpp",
    ),
    Report(
        "payload",
        7,
        "payloads of 1 MiB that are trimmed for each message: ZettaScaleLabs/hiroz#350",
        Truth(
            True,
            ("switch the allocator", "change a setting"),
            ("brk thrash", *_MAPPED),
            never=("tcache overflow", "tcache_count"),
        ),
        "remedies.cpp",
    ),
)
