"""Kind 10: programs that two verbs disagreed on, and collectors; 11: patterns that a recording shows."""

from reports.records import Report, Truth, tool

_CALLS = ("many allocations", "tcache overflow")
_COLLECTED = ("garbage collection", "page faults", "growing memory")
_MALLOC = ("tcache overflow", "arena lock", "jemalloc", "mimalloc", "tcmalloc")

REPEATS = (
    Report(
        "paths",
        10,
        "a path is put together in a new string for each look-up: transmission/transmission#2068",
        Truth(True, ("switch the allocator", "allocate less"), _CALLS),
        "repeats.cpp",
        ci=True,
    ),
    Report(
        "counters",
        10,
        "names of counters are made into strings for each look-up: facebookincubator/velox#17324",
        Truth(True, ("switch the allocator", "allocate less"), _CALLS),
        "repeats.cpp",
    ),
    Report(
        "tree-time",
        10,
        "work beside many blocks, of which another allocator saves a tenth: neherlab/treetime#290",
        Truth(True, ("switch the allocator", "allocate less"), _CALLS),
        "repeats.cpp",
    ),
    Report(
        "analysis",
        10,
        "the same, a twentieth: rust-lang/rust-analyzer#1441",
        Truth(None, ("switch the allocator", "allocate less", "leave it alone", "inconclusive"), _CALLS),
        "repeats.cpp",
    ),
    Report(
        "node-young",
        10,
        "objects that live a little longer than V8's young generation has room for: nodejs/node#42511",
        Truth(False, ("change a setting", "allocate less"), _COLLECTED, never=_MALLOC),
        "young.js",
        environment={"NODE_OPTIONS": ""},
        twin_environment={"NODE_OPTIONS": "--max-semi-space-size=128"},
        missing=tool("node"),
    ),
    Report(
        "java-sessions",
        10,
        "a heap that what lives almost fills, and full collections: witchesofthehill/manabrew#695",
        Truth(False, ("change a setting", "allocate less"), _COLLECTED, never=_MALLOC),
        "Sessions.java",
        options=("-XX:+UseSerialGC",),
        environment={"JDK_JAVA_OPTIONS": "-Xmx52m"},
        twin_environment={"JDK_JAVA_OPTIONS": "-Xmn300m -Xmx600m"},
        missing=tool("javac"),
    ),
    Report(
        "go-limit",
        10,
        "GOMEMLIMIT just above what lives: golang/go#58106",
        Truth(False, ("change a setting", "allocate less"), _COLLECTED, never=_MALLOC),
        "collect.go",
        environment={"GOGC": "off", "GOMEMLIMIT": "64MiB"},
        twin_environment={"GOGC": "400"},
        missing=tool("go"),
    ),
    Report(
        "python-load",
        10,
        "cycles are looked for while records are loaded, of which none is garbage: davidhalter/jedi#323",
        Truth(
            False,
            ("change a setting", "allocate less"),
            (*_COLLECTED, *_CALLS),
            never=("arena lock",),
        ),
        "load.py",
    ),
    Report(
        "segments",
        11,
        "room for one more before each insertion, so that a table is copied each time: "
        "martinus/unordered_dense#188",
        Truth(
            True,
            ("allocate less", "switch the allocator", "change a setting"),
            ("clearing and copying", "mmap thrash", "brk thrash", "page faults", "large blocks"),
            never=("tcache overflow", "growing memory"),
        ),
        "repeats.cpp",
        ci=True,
    ),
    Report(
        "documents",
        11,
        "a document that is parsed into again and again, whose pool only grows: Tencent/rapidjson#1333",
        Truth(
            True,
            ("change a setting", "allocate less", "inconclusive"),
            ("page faults", "growing memory"),
            never=("tcache overflow", "jemalloc", "tcmalloc"),
        ),
        "repeats.cpp",
    ),
    Report(
        "overflow",
        11,
        "a buffer resource too small for a request, so that each goes upstream: Tencent/rapidjson#1684",
        Truth(True, ("allocate less", "switch the allocator"), (*_CALLS, "large blocks")),
        "repeats.cpp",
    ),
    Report(
        "points",
        11,
        "built without optimisation, as no build type was given: openscad/openscad#7021",
        Truth(
            None,
            ("leave it alone", "switch the allocator", "change a setting", "inconclusive"),
            never=(*_CALLS, "parsing"),
        ),
        "unoptimized.cpp",
    ),
)
