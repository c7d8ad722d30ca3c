"""The program's own work: slow where glibc puts the blocks, or slow wherever they are."""

from known.records import Known, Truth

_ELSEWHERE = ("arena lock", "a lock of its own", "kernel input and output", "garbage collection")
_PLACED = Truth(
    gain=True,
    conclusions=("switch the allocator",),
    # malloc takes a tenth of it, too: of two preloads that place blocks alike, the one without glibc's calls
    # takes 20 % less [19.6, 20.6] in list and 33 % less [30, 35] in tree.
    causes=("placement", "many allocations"),
    never=("tcache overflow", *_ELSEWHERE, "brk thrash", "mmap thrash", "parsing"),
)

CASES = (
    Known(
        "placing.cpp",
        "list",
        "a list whose items lie between notes that are not read",
        _PLACED,
        report="pleriche/FastMM5#6",
        ci=True,
    ),
    Known(
        "placing.cpp",
        "columns",
        "columns that are filled row by row, and all begin on the same lines of the processor's cache",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting"),
            causes=("placement",),
            never=("tcache overflow", *_ELSEWHERE, "many allocations", "parsing"),
        ),
        report="microsoft/mimalloc#1121",
    ),
    Known(
        "placing.cpp",
        "tree",
        "a tree that is searched, whose nodes lie between the texts of their keys",
        _PLACED,
        report="conjure-cp/conjure-oxide#1720",
    ),
    Known(
        "placing.cpp",
        "sparse",
        "none: a sparse matrix times a vector, without any text to parse",
        Truth(
            gain=False,
            # Huge pages save 8 % [4, 9], where the kernel has them.
            conclusions=("leave it alone", "change a setting"),
            never=(
                "parsing",
                "tcache overflow",
                "many allocations",
                "large blocks",
                *_ELSEWHERE,
            ),
        ),
        ci=True,
    ),
    Known(
        "placing.cpp",
        "polynomials",
        "operations on vectors of up to 16 MB, each of which makes its result",
        Truth(
            gain=True,
            conclusions=("change a setting", "switch the allocator", "allocate less"),
            causes=("page faults", "mmap thrash", "brk thrash", "large blocks", "clearing and copying"),
            never=("tcache overflow", *_ELSEWHERE, "growing memory", "many allocations"),
        ),
        report="openfheorg/openfhe-development#1213",
    ),
    Known(
        "placing.cpp",
        "reserve",
        "a vector that is asked to hold one more before each insertion",
        Truth(
            gain=True,
            conclusions=("allocate less", "switch the allocator", "change a setting"),
            causes=("brk thrash", "page faults", "large blocks", "clearing and copying"),
            never=("tcache overflow", *_ELSEWHERE, "growing memory"),
        ),
        report="AntelopeIO/leap#2327, pybind/pybind11#871",
        ci=True,
    ),
    Known(
        "placing.cpp",
        "words",
        "a name that is made for each word that is counted, though few are new",
        Truth(
            gain=None,  # tcmalloc takes 4 % less [1, 8]
            conclusions=("allocate less", "leave it alone", "switch the allocator", "inconclusive"),
            causes=("many allocations",),
            never=("tcache overflow", *_ELSEWHERE, "growing memory", "brk thrash", "mmap thrash"),
        ),
    ),
    Known(
        "placing.cpp",
        "document",
        "a document of many small values that is read and dropped",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less", "change a setting"),
            causes=("many allocations", "brk thrash", "page faults", "tcache overflow", "placement"),
            never=(*_ELSEWHERE, "growing memory", "mmap thrash"),
        ),
        report="nlohmann/json#5298",
    ),
    Known(
        "placing.cpp",
        "store",
        "trees of small nodes that are built and dropped, in a namespace that is called json",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less"),
            causes=("many allocations", "tcache overflow", "placement", "brk thrash", "page faults"),
            never=(*_ELSEWHERE, "growing memory", "mmap thrash", "parsing"),
        ),
    ),
)
