"""Memory of one process at one moment, by the kernel and by its allocator. Sizes in bytes."""

from reap.base.records import Record

OWNERS = ("python", "v8", "java", "jvm", "go", "go_runtime", "php", "beam", "data", "named")
"""The fields of `Kernel` that are memory of a language runtime, or of another owner that is no malloc."""


class Kernel(Record):
    """The resident memory of a process by kind of mapping, as /proc/PID/smaps has it.

    `heap` to `lazy_free` and the fields that `OWNERS` names add up to `resident`: what one of them counts is
    in no other.
    """

    resident: int
    heap: int
    """The area that grows by brk, which the kernel calls [heap]."""
    anonymous: int
    """Other private memory of no file: mmap."""
    stack: int
    """The stacks of all threads."""
    files: int
    """Pages of files as they are on the disk: programs, libraries, mapped data."""
    written: int
    """Pages of private mappings of files that the process wrote to, and so has of its own."""
    shared: int
    """Memory shared with other processes: shm, memfd, tmpfs."""
    lazy_free: int
    """Returned with MADV_FREE, not yet reclaimed: resident until the kernel needs it."""
    swap: int = 0
    huge: int = 0
    """Of `resident`, in transparent huge pages."""
    heap_zeros: int = 0
    """Of `heap`, pages of only zeros inside huge pages, by a sample; 0 if not known."""
    anonymous_zeros: int = 0
    """The same of `anonymous`."""
    python: int = 0
    """Arenas of CPython's small-object allocator, by a sample of their pools: within some percent."""
    v8: int = 0
    """Pages of V8's heap, and its code."""
    java: int = 0
    """A JVM's heap of objects."""
    jvm: int = 0
    """What else a JVM has mapped: metaspace, compiled code, tables of its garbage collector."""
    go: int = 0
    """Go's heap, stacks of goroutines included."""
    go_runtime: int = 0
    """What else Go's runtime has mapped: its tables."""
    php: int = 0
    """Zend's memory manager."""
    beam: int = 0
    """Carriers of Erlang's virtual machine: what neither glibc nor a stack has there."""
    data: int = 0
    """Static data that no file has (.bss): of the executable, and little of libraries."""
    named: int = 0
    """Anonymous memory that its owner has given a name (PR_SET_VMA_ANON_NAME)."""
    arenas: int = 0
    """Of `anonymous`: glibc's heaps of threads and blocks with a mapping each, by their headers."""
    below: int = 0
    """Of `stack`, below the stack pointers: left by calls that have returned."""
    private: int = 0
    """Of `resident`, mapped by no other process."""
    inherited: int = 0
    """Of `resident`, anonymous and still shared with other processes since a fork (copy-on-write)."""


class Cgroup(Record):
    """The memory of the control group of a process: all of its processes, page cache included."""

    current: int
    limit: int


class Walk(Record):
    """Chunks of glibc's main heap, or of all its other heaps: see reap_resident.h."""

    stamp: int
    begin: int
    bytes: int
    resident: int
    live: int
    live_blocks: int
    untouched: int
    free: int
    whole: int
    whole_resident: int
    top: int
    top_resident: int
    largest: int
    above_blocks: int
    above_bytes: int
    used: int
    arena: int
    duration: int


class Around(Record):
    """Findings of a walk over all heaps of glibc, beside their chunks: see reap_resident.h."""

    heaps: int
    unread: int
    unread_resident: int
    caches: int | None
    cached: int
    fast: int
    mapped: int
    mapped_resident: int


class Answer(Record):
    """Report of an allocator that is linked into a file, by the address of its function."""

    kind: str
    function: int
    values: dict[str, int] = {}


class Linked(Record):
    """An allocator that is linked into a file of the process, beside the one that serves malloc."""

    allocator: str
    file: str
    function: str = ""
    """By which it reports its memory; empty where the file was stripped of the name."""
    values: dict[str, int] = {}
    """As in `Said`; empty where it was not asked."""


class Said(Record):
    """Report of the allocator on itself."""

    kind: str
    """`glibc`, `jemalloc`, `tcmalloc`, `mimalloc`; empty for one that cannot be asked."""
    provider: str
    """The file that serves malloc."""
    function: int = 0
    """The address by which it is asked."""
    stamp: int = 0
    """When, in nanoseconds of the monotonic clock; 0 if it was not asked yet."""
    stopped: bool = False
    """It is not asked any more."""
    outside: bool = False
    """It was not asked: its heaps were walked from outside, at `stamp`."""
    values: dict[str, int] = {}
    """By name, as reap_resident.h has them; what it would not say is missing."""
    walk: Walk | None = None
    """glibc: of its main heap."""
    others: Walk | None = None
    """glibc: of the heaps of its other arenas, all together; None where these were not found."""
    around: Around | None = None
    """There where `others` is."""
    linked: list[Answer] = []
    """What linked allocators reported on request."""
    token: int = 0
    """Which a request needs."""


class Native(Record):
    """Memory that a JVM has for one purpose, by its own account (native memory tracking)."""

    name: str
    """As the JVM has it: `GC`, `Code`, `Other`, ..."""
    malloc: int
    """Requested from malloc and in use."""
    mapped: int
    """Mapped and committed; what of that was never written to is not resident."""


class Moment(Record):
    """A process at one moment."""

    pid: int
    seconds: float
    """Since the watching began."""
    kernel: Kernel
    said: Said | None = None
    linked: list[Linked] = []
    shares: Kernel | None = None
    """The same by PSS; None where that is not known."""
    copied: int = 0
    """Of its private memory, shared with its parent after the fork and copied since: at most."""
    forked_from: int = 0
    """The process that it was forked from and is a copy of; 0 for one that has executed a program since."""
    cgroup: Cgroup | None = None
    """Where there is a limit."""
    native: list[Native] = []
    """Account of a JVM, where a new one has come."""
    unwalked: str = ""
    """Why its heaps could not be walked from outside, a clause; empty where they were, or its allocator is
    asked."""
    coarse: bool = False
    """By /proc/PID/status alone, as its mappings may not be read."""
