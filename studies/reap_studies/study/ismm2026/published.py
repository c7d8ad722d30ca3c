"""What ISMM 2026 published of each program, to stand beside ours: Tables 1 and 4, and figures of the text.

Facts of the paper; nothing here is measured.
"""

from reap.api import Record


class Published(Record):
    """A program of the paper."""

    program: str
    kind: str
    chunks: bool
    individual: bool
    bulk: bool
    excluded: str = ""
    """Why the paper left it out; empty where it is in the study."""
    switch: str = ""
    """How its allocator was switched off. (Table 4)"""
    clean: str = ""
    """Naive to custom on a clean heap. (Figures 4 and 5, sections 4.3 and 4.4)"""
    littered: str = ""
    """What fragmentation did to naive allocation. (Figure 6, section 4.5)"""
    here: str = ""
    """The workload that stands for it, if one does."""


PROGRAMS = (
    Published(
        program="boxed-sim",
        kind="per-class",
        chunks=False,
        individual=True,
        bulk=False,
        switch="remove freelist",
        clean="2.3 % (mimalloc)",
        here="bouncing-balls",
    ),
    Published(
        program="mudlle",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        switch="reduce chunk size to fit single objects",
        clean="15 % (mimalloc)",
        littered="18 % (mimalloc), over 2 times (glibc)",
        here="mudlle",
    ),
    Published(
        program="175.vpr",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        switch="reduce chunk size to fit single objects",
        clean="equal or nearly (mimalloc)",
        littered="relatively unaffected",
        here="fpga-placer",
    ),
    Published(
        program="176.gcc",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        switch="reduce chunk size to fit single objects",
        littered="27 % (mimalloc)",
        here="expression-compiler",
    ),
    Published(
        program="197.parser",
        kind="hybrid",
        chunks=True,
        individual=True,
        bulk=False,
        switch="use malloc/free directly",
        clean="7.1 % (mimalloc)",
        littered="25 % (mimalloc), over 2 times (glibc)",
        here="chart-parser",
    ),
    Published(
        program="Clang",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        switch="reduce large allocation threshold to 0",
        clean="equal or nearly (mimalloc)",
        littered="custom stays 3.2 to 9.4 % faster",
        here="clang",
    ),
    Published(
        program="geometry_nodes",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        switch="reduce large allocation threshold to 0",
        clean="14 % (mimalloc)",
        littered="relatively unaffected",
        here="geometry-pass",
    ),
    Published(
        program="sculpt",
        kind="hybrid",
        chunks=True,
        individual=True,
        bulk=True,
        switch="track live objects with a hash set",
        here="mesh-sculptor",
    ),
    Published(
        program="C-Breeze",
        kind="per-class",
        chunks=False,
        individual=True,
        bulk=False,
        excluded="missing sources",
        here="flow-optimizer",
    ),
    Published(
        program="Apache",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        excluded="not compute-bound",
        here="apache",
    ),
    Published(
        program="lcc",
        kind="region",
        chunks=True,
        individual=False,
        bulk=True,
        excluded="missing benchmark input",
        here="lcc",
    ),
)
"""In the order of the paper's Table 1."""

ORIGINALS = ("mudlle", "clang")
"""The workloads that are the paper's own programs, in later versions."""

REJECTED = (
    ("gcc", "region", "its obstacks and zones stand beside a collector: nothing switches them off"),
    ("Apache httpd", "region", "not compute-bound, as in the paper; `reap study oopsla2002` has it"),
    ("GLib's slices", "per-class", "the switch is accepted and changes nothing"),
)
"""Candidates that are in no study of this paper: name, type of allocator, reason."""
