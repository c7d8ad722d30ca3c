"""Programs written after the others, of other shapes, to try what was built with those."""

from reports.records import Report, Truth


def _held_out(name: str, kind: int, fault: str, truth: Truth) -> Report:
    return Report(name, kind, fault, truth, "heldout.cpp", held_out=True)


HELD_OUT = (
    _held_out(
        "streams",
        10,
        "a stream is made for each address that is written, and its text needs no block: "
        "LunarG/gfxreconstruct#761",
        Truth(False, ("leave it alone",), never=("tcache overflow", "many allocations", "parsing")),
    ),
    _held_out(
        "writer",
        11,
        "a buffer is reserved to just what a row needs: OSGeo/gdal#7069",
        Truth(
            True,
            ("allocate less", "switch the allocator", "change a setting"),
            ("clearing and copying", "mmap thrash", "brk thrash", "page faults", "large blocks"),
            never=("tcache overflow", "growing memory"),
        ),
    ),
    _held_out(
        "pages",
        6,
        "a tree of tags is made for each page and freed: sparklemotion/nokogiri#2790",
        Truth(
            True,
            ("switch the allocator", "allocate less"),
            ("tcache overflow", "many allocations", "brk thrash", "page faults", "placement", "large blocks"),
            never=("parsing", "growing memory"),
        ),
    ),
    _held_out(
        "video",
        8,
        "two threads for each frame, which compute: lukehsiao/CribSense#18",
        Truth(False, ("leave it alone",), never=("tcache overflow", "arena lock")),
    ),
    _held_out(
        "settling",
        9,
        "tables that are full soon, and what each request leaves: varun29ankuS/shodh-memory#90",
        Truth(
            False,
            ("leave it alone", "allocate less", "inconclusive"),
            ("growing memory", "page faults"),
            never=("tcache overflow",),
        ),
    ),
    _held_out(
        "churned",
        7,
        "a map filled again with blocks freed in random order, and read: gperftools/gperftools#951",
        Truth(
            True,
            ("switch the allocator",),
            ("placement",),
            never=("parsing", "page faults", "thresholds"),
        ),
    ),
)
