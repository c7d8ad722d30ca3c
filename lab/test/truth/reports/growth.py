"""Kind 9: memory that grows, and memory that only seems to."""

from reports.records import Report, Truth

_GROWING = ("growing memory", "a leak", "grew until the end")

GROWTH = (
    Report(
        "peaks",
        9,
        "twelve equal bursts, the last at the end, and no leak: samsoir/xearthlayer#227",
        Truth(
            True,
            ("switch the allocator", "change a setting"),
            ("page faults", "brk thrash", "large blocks"),
            never=_GROWING,
        ),
        "growth.cpp",
        ci=True,
    ),
    Report(
        "beside",
        9,
        "400 bytes of each request stay, beside a cache that is full: apache/incubator-pagespeed-mod#30",
        Truth(
            None,
            ("change a setting", "leave it alone", "switch the allocator", "allocate less", "inconclusive"),
            ("growing memory", "page faults", "large blocks"),
        ),
        "growth.cpp",
        ci=True,
    ),
    Report(
        "warm-up",
        9,
        "a cache that is full after three quarters of the run: amule-project/amule#712",
        Truth(False, ("leave it alone", "allocate less"), ("page faults",), never=_GROWING),
        "growth.cpp",
    ),
    Report(
        "saturating",
        9,
        "a cache whose new keys are ever rarer: xabierlameiro/next-leak#60",
        Truth(True, ("change a setting", "allocate less", "inconclusive"), ("page faults",), never=_GROWING),
        "growth.cpp",
    ),
    Report(
        "unbounded",
        9,
        "a cache without a bound: getlantern/go-geoserve#4",
        Truth(False, ("leave it alone", "allocate less", "inconclusive"), ("growing memory", "page faults")),
        "growth.cpp",
    ),
)
