"""Parts of a process's resident memory. Sizes in bytes."""

from itertools import pairwise

from reap.base.records import Record
from reap.launch.process import settled
from reap.launch.process.records import Native

_NEAR = 0.02
"""The part of settled memory by which a moment that stands for it may differ."""


class Parts(Record):
    """Resident memory, broken down. The parts add up to it."""

    live: int = 0
    """Allocated and not freed, headers included."""
    inside: int = 0
    """Free, or bookkeeping, in pages that hold live objects too: nothing can return these pages to the OS."""
    cached: int = 0
    """Free in the caches of glibc's threads; bytes, and not whole pages."""
    pinned: int = 0
    """Whole free pages of glibc's main heap below a live block: its top cannot shrink past that block."""
    top: int = 0
    """Free at the top of glibc's main heap, below the trim threshold."""
    held: int = 0
    """Whole free pages kept by the allocator elsewhere: heaps of threads, dirty pages, free spans."""
    heap: int = 0
    """The allocator's, not broken down into live and free."""
    zeros: int = 0
    """Pages of only zeros inside huge pages, estimated: with 4 KiB pages those never written to are not
    resident."""
    lazy_free: int = 0
    """Returned with MADV_FREE, not yet reclaimed: resident until the kernel needs it."""
    other: int = 0
    """Anonymous memory of no owner that is known: the program's own mmap."""
    python: int = 0
    """CPython's arenas, which hold its objects of at most 512 bytes."""
    v8: int = 0
    """V8's heap and code."""
    java: int = 0
    """A JVM's heap."""
    jvm: int = 0
    """What else a JVM has mapped: metaspace, compiled code, tables of its garbage collector."""
    go: int = 0
    """Go's heap, stacks of goroutines included."""
    go_runtime: int = 0
    php: int = 0
    """Zend's memory manager."""
    beam: int = 0
    """Carriers of Erlang's virtual machine."""
    data: int = 0
    """Static data (.bss)."""
    named: int = 0
    """Anonymous memory that its owner has named (PR_SET_VMA_ANON_NAME)."""
    stack: int = 0
    """Stacks of all threads."""
    files: int = 0
    """Pages of files, shared with whoever else uses them."""
    written: int = 0
    """The process's own copies of such pages."""
    shared: int = 0


NAMES = {
    "live": "live bytes",
    "inside": "free inside pages with live bytes",
    "cached": "free in thread caches",
    "pinned": "free pages below a pin",
    "top": "free at the top of the heap",
    "held": "free pages kept by the allocator",
    "heap": "the allocator's, not broken down",
    "zeros": "zero pages inside huge pages",
    "lazy_free": "LazyFree: not yet reclaimed",
    "other": "other anonymous memory",
    "python": "CPython's arenas",
    "v8": "V8's heap",
    "java": "Java heap",
    "jvm": "JVM: metaspace, code, GC",
    "go": "Go's heap",
    "go_runtime": "Go's runtime",
    "php": "PHP's heap (Zend)",
    "beam": "Erlang's carriers (BEAM)",
    "data": "static data (.bss)",
    "named": "named by its owner",
    "stack": "thread stacks",
    "files": "files",
    "written": "own copies of files' pages",
    "shared": "shared memory",
}
"""What people call the parts, in the order in which they are shown."""


class Pin(Record):
    """Live blocks that keep glibc's main heap from shrinking."""

    blocks: int
    """Live blocks between the largest stretch of free pages and the top."""
    bytes: int
    """Of these blocks together."""
    stretch: int
    """Of that stretch."""


class Heaps(Record):
    """The heaps that glibc makes for threads, and what `malloc_trim(0)` would return of all heaps."""

    number: int
    whole: int
    """Resident whole free pages between live blocks."""
    top: int
    """Resident free pages at the tops: `malloc_trim` does not return these."""
    caches: int | None
    """Thread caches that hold blocks; None where this glibc's are not known."""
    trim: int
    """Resident bytes that `malloc_trim(0)` would return, those of the main heap included."""


class Owner(Record):
    """An allocator that is linked into a file, and what of the parts is its."""

    allocator: str
    file: str
    function: str = ""
    """By which it reports its memory; empty where the file was stripped of the name."""
    asked: bool = False
    background: bool | None = None
    """jemalloc: whether a background thread returns memory to the OS."""
    live: int = 0
    inside: int = 0
    held: int = 0
    heap: int = 0


class Taken(Record):
    """A process's memory at one moment, broken down."""

    seconds: float
    resident: int
    parts: Parts
    swap: int = 0
    huge: int = 0
    proportional: int = 0
    """PSS: each page divided by the number of processes that map it; 0 where it is not known."""
    private: int = 0
    """Of `resident`, mapped by no other process."""
    inherited: int = 0
    """Of `resident`, anonymous memory that is still shared since a fork (copy-on-write)."""
    below: int = 0
    """Of the stacks, below the stack pointers: left by calls that have returned."""
    copied: int = 0
    """Of `private`, shared with the parent after the fork and copied since, as either wrote to it: at most.
    """
    said: bool = False
    """The allocator was asked; otherwise its free memory cannot be separated from live bytes."""
    pin: Pin | None = None
    heaps: Heaps | None = None
    """None where the heaps of threads are not known."""
    linked: list[Owner] = []
    """The allocators that are linked in; what is theirs is in `parts`, too."""


class Cgroup(Record):
    """Memory of the control group: that of all its processes, and page cache."""

    current: int
    limit: int


class Residence(Record):
    """The memory of a process over time, or that of all processes of a command together.

    Together, sizes are PSS: what processes share is counted once.
    """

    command: list[str]
    pid: int
    moments: list[Taken]
    """In order of time; those of a long run are thinned out, and the first, last and largest kept."""
    taken: int
    """How many there were."""
    interval: float
    allocator: str = ""
    """The kind that was asked; empty if none was."""
    provider: str = ""
    """The file that serves malloc, where that is known."""
    background: bool | None = None
    """jemalloc: whether a background thread returns memory to the OS."""
    recorded: float | None = None
    """Live bytes at the end by a recording of the same run, all processes together; None without one."""
    peak: int = 0
    """The most resident memory of a process of the command by the kernel's own account; 0 if not known."""
    ended: str = ""
    """Why observation stopped, where it did not end by itself."""
    custom_title: bool = False
    """Whether `command` is a title that the process has given itself, and not a command."""
    processes: int = 1
    """How many there were at the most at one moment."""
    native: list[Native] = []
    """The last account of a JVM, or of the largest one together, where its native memory tracking is on."""
    cgroup: Cgroup | None = None
    """At the end, where there is a limit."""
    unwalked: str = ""
    """Why glibc's heaps could not be walked from outside, a clause; empty where that was not needed."""
    notes: list[str] = []

    @property
    def settled(self) -> Taken:
        """The moment that stands for the second half of the time, by `launch.process.settled`.

        Of the moments that have about the settled memory the latest of which most is known. What the process
        frees as it ends is not in it.
        """
        moments = self.moments
        begin, end = moments[0].seconds, moments[-1].seconds
        level = settled.settled([(each.seconds, float(each.resident)) for each in moments], end, begin) or 0.0
        late = self._late()
        near = [each for each in late if abs(each.resident - level) <= _NEAR * level]

        def known(each: Taken) -> tuple[bool, bool, float]:
            return each.said, each.parts.heap <= _NEAR * each.resident, each.seconds

        return max(near or late, key=known)

    @property
    def late(self) -> int:
        """Number of snapshots that hold in the second half of the time."""
        return len(self._late())

    def _late(self) -> list[Taken]:
        moments = self.moments
        begin, end = moments[0].seconds, moments[-1].seconds
        half = begin + settled.FROM * (end - begin)
        return [one for one, after in pairwise(moments) if after.seconds > half] + moments[-1:]

    @property
    def last(self) -> Taken:
        """The last moment."""
        return self.moments[-1]

    @property
    def largest(self) -> Taken:
        """The moment of the most resident memory."""
        return max(self.moments, key=lambda each: each.resident)
