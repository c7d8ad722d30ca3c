"""Kind 6: the name of a function tells nothing of the cause."""

from reports.records import Report, Truth

_DOCUMENT = ("tcache overflow", "many allocations", "page faults", "large blocks", "brk thrash")

NAMES = (
    Report(
        "json-destroy",
        6,
        "a document's values are freed one by one by destructors in a namespace `json`: nlohmann/json#3583",
        Truth(True, ("switch the allocator", "allocate less"), _DOCUMENT, never=("parsing",)),
        "names.cpp",
        ci=True,
    ),
    Report(
        "xml-build",
        6,
        "a tree that lives only while it is written elsewhere, made in `parse_node`: hughsie/libxmlb#244",
        Truth(True, ("switch the allocator", "allocate less"), (*_DOCUMENT, "parsing")),
        "names.cpp",
    ),
    Report(
        "sparsity",
        6,
        "vectors of a `SparsityPattern` that grow for each matrix, and no text: FEniCS/dolfinx#4551",
        Truth(
            True,
            ("switch the allocator", "change a setting", "allocate less"),
            ("page faults", "mmap thrash", "brk thrash", "clearing and copying", "large blocks"),
            never=("parsing", "tcache overflow"),
        ),
        "names.cpp",
    ),
    Report(
        "complex",
        6,
        "complex numbers multiplied with checks that nobody needs, by `ComplexMixer`: gnuradio/gnuradio#3114",
        Truth(False, ("leave it alone",), never=("parsing",)),
        "names.cpp",
        ci=True,
    ),
    Report(
        "tokens",
        6,
        "a lexer makes a string of each token: PistonDevelopers/wavefront_obj#49",
        Truth(True, ("switch the allocator", "allocate less"), (*_DOCUMENT, "parsing")),
        "names.cpp",
    ),
)
