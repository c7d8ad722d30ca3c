"""Programs that are held out: no rule may be made with them, they only say how well rules do."""

from known.records import Known, Truth

_LOCKS = ("arena lock", "a lock of its own")

CASES = (
    Known(
        "held.cpp",
        "modules",
        "lists of instructions that are made for each function; all is linked statically, glibc's malloc too",
        Truth(
            gain=True,
            conclusions=("change a setting", "allocate less", "inconclusive"),
            causes=("tcache overflow", "many allocations"),
            never=(*_LOCKS, "kernel input and output", "growing memory", "mmap thrash"),
        ),
        report="WebAssembly/binaryen#5561",
        linked="static",
        held_out=True,
    ),
    Known(
        "held.cpp",
        "guest",
        "pages of a guest from aligned_alloc, each of which costs two",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "change a setting", "allocate less"),
            causes=("brk thrash", "page faults", "large blocks", "many allocations"),
            never=(*_LOCKS, "kernel input and output", "growing memory"),
        ),
        report="0vercl0k/wtf#149",
        held_out=True,
    ),
    Known(
        "held.cpp",
        "barrier",
        "two workers wait at the end of each step until the third has freed the cases of the last",
        Truth(
            gain=True,
            conclusions=("switch the allocator", "allocate less", "inconclusive"),
            causes=("large blocks", "many allocations", "page faults", "brk thrash"),
            never=("tcache overflow", "kernel input and output", "a lock of its own"),
            metric="wall",
        ),
        report="OPM/ResInsight#2873",
        held_out=True,
    ),
    Known(
        "held.cpp",
        "files",
        "a file in memory for each job, with the inode and the name that the kernel makes for it",
        Truth(
            gain=False,
            conclusions=("leave it alone", "inconclusive"),
            causes=("kernel input and output",),
            never=(
                *_LOCKS,
                "tcache overflow",
                "many allocations",
                "placement",
                "brk thrash",
                "growing memory",
            ),
        ),
        report="rfjakob/gocryptfs#1031",
        held_out=True,
    ),
    Known(
        "held.cpp",
        "chains",
        "a table of chains whose links lie between the records that they stand for",
        Truth(
            gain=True,
            conclusions=("switch the allocator",),
            causes=("placement",),
            never=(*_LOCKS, "tcache overflow", "many allocations", "kernel input and output", "mmap thrash"),
        ),
        report="microsoft/mimalloc#101",
        held_out=True,
    ),
    Known(
        "held.cpp",
        "buffers",
        "buffers of a shared pool that are cleared under its one lock",
        Truth(
            gain=False,
            conclusions=("leave it alone", "inconclusive"),
            causes=("a lock of its own",),
            never=("arena lock", "tcache overflow", "many allocations", "brk thrash", "page faults"),
        ),
        report="matrixorigin/matrixone#26997",
        held_out=True,
    ),
)
