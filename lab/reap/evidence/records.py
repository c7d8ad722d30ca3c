"""Measurements of a program at the allocator wall, before anything is judged.

Facts alone. Times in seconds unless a name says otherwise, sizes in bytes; what was not measured is None.
"""

from typing import Literal, get_args

from reap.base.records import Estimate, Record
from reap.launch.records import Calibration
from reap.recording.analyse.growth import Growth
from reap.recording.records import Latency, Share, SizeBin

Owner = Literal[
    "allocator",
    "collector",
    "lock",
    "kernel_io",
    "kernel_path",
    "kernel_slab",
    "kernel_memory",
    "kernel_fault",
    "kernel_other",
    "other",
]
"""Who was executing. What the kernel does on the allocator's behalf is `allocator`, for a lock `lock`;
`kernel_path` is the look-up of file names, `kernel_slab` the kernel's own allocator, `kernel_memory` a call
for memory that the allocator did not make."""
OWNERS: tuple[Owner, ...] = get_args(Owner)

CollectorKind = Literal["cpython", "go", "jvm", "v8"]
"""Whose garbage collector."""

CALLS = ("brk", "mmap", "munmap", "mremap", "madvise", "futex")
"""The system calls that are counted by who made them."""


class Requests(Record):
    """Numbers of allocations and requests of the counted run."""

    unit: Literal["mark", "connection", "read", ""] = ""
    """What a request is: marked by the program itself, a connection that it accepted, a read from one; empty
    where none was seen."""
    count: int = 0
    allocations: int = 0
    """In the whole run, exactly; of marked requests, in these."""
    per_request: float | None = None
    """Allocations a request: the mean of the marked ones, else all by `count`; None without requests."""


class Faults(Record):
    """Pages that the kernel had to provide."""

    minor: int = 0
    major: int = 0
    samples: int = 0
    """Page faults whose cause was seen; not all of many."""
    by_cause: dict[str, int] = {}
    """Of `samples`: `allocator` (its own code touched the page first), `heap` (the program did, in memory
    that belongs to no file), `stack`, `file` (mapped from one)."""
    in_allocator: Estimate | None = None
    """Share of `samples` that happened in the allocator's own code."""


class CallCount(Record):
    """Number of calls of one system call."""

    by_allocator: int = 0
    by_others: int = 0

    @property
    def total(self) -> int:
        """By whomever."""
        return self.by_allocator + self.by_others


class Waiting(Record):
    """Thread-seconds in which threads did not run, by what they waited for: of N threads up to N per second.

    Estimated by polling every thread many times per second.
    """

    lock: float = 0.0
    """For a lock; where threads run in turn, for a semaphore or a condition as well."""
    disk: float = 0.0
    network: float = 0.0
    other: float = 0.0
    """Sleeping, waiting for a child or a pipe, and unknown."""
    allocator_lock: float | None = None
    """Of `lock`, in a call that the allocator made; None where callers were not seen."""
    lock_on_allocator: Estimate | None = None
    """Part of the waiting for locks (0 to 1) in which the running threads of the process executed in the
    allocator; None where no such sample was taken."""
    other_on_allocator: Estimate | None = None
    """The same of waiting for conditions, semaphores and ends of threads, which `other` has."""
    idle: float | None = None
    """Seconds in which no thread ran or waited for a processor; None where that is not known."""
    turns: int = 0
    """How many threads of a process had work, and ran in turn on one core's time; 0 where none did."""
    polls: int = 0
    """How often the state of all threads was sampled."""


class Resident(Record):
    """Resident memory."""

    peak: int = 0
    """Of the largest process, or of all together where more was seen."""
    end: int = 0
    """The last that was seen before the end."""
    late: int = 0
    """The median of the run's second half, as the next two are: what a program has for only a few
    milliseconds, as when it frees everything at its end, does not count."""
    trimmable: int | None = None
    """Free whole pages that malloc_trim would return, as glibc reported in a further run; None where it was
    not asked, since too little seemed to be free."""
    lazy_free: int | None = None
    """Resident pages that the program returned with MADV_FREE; None where that is not known."""


class Collector(Record):
    """Activity of a garbage collector."""

    kind: CollectorKind
    count: int | None = None
    """Collections; None where only its time on the processor is known."""
    pause_seconds: float | None = None
    """The program was stopped."""
    cpu_seconds: float | None = None
    """CPU time, by samples."""
    of_cpu_seconds: float | None = None
    """CPU time of the run in which it said how much it took; None where that is the sampled run."""
    of_seconds: float | None = None
    """The time that passed in the run in which it said how long it stopped the program."""
    cpu_share: float | None = None
    """Part of CPU time (0 to 1) that it took: no more than this can be saved of it."""
    stopped_share: float | None = None
    """Part of the time that passed (0 to 1) in which it stopped the program: waiting, not CPU time."""


class Linked(Record):
    """An allocator that is linked into a file of the program, so that no preload can replace it."""

    module: str
    """The file."""
    allocator: str
    """jemalloc, mimalloc, tcmalloc, ...; `unknown` where its memory, or a static file, gives it away."""
    how: Literal["symbols", "text", "memory", "static"]
    """What gives it away: its functions, what it prints, memory that malloc did not serve, or a static file,
    which has whatever malloc it calls."""
    seen: bool
    """Whether its functions have names, so that the allocator's share has their time."""
    samples: int = 0
    """Samples in the file's own code that are in no known allocator: where it is not `seen`, at most so many
    are the allocator's."""
    stands_aside: bool = False
    """Whether another allocator can take its place in a trial."""
    library: bool = False
    """Whether the file is a library, beside which malloc serves the rest of the program."""


class Hint(Record):
    """Hint from the names of functions. Never a cause."""

    what: Literal["parsing"]
    samples: int
    """In functions whose own name has such a word."""
    functions: list[str]
    """Their own names, without class and namespace: those with the most samples, most first."""


class Hot(Record):
    """A function that samples found the program in."""

    function: str
    """Empty without a symbol."""
    module: str
    owner: Owner
    samples: int


class Counted(Record):
    """Figures of the counted run: a second run of the same command, with the recorder preloaded."""

    allocations: int
    frees: int
    bytes: int
    seconds: float
    cpu_seconds: float
    peak_bytes: float
    """In use at once, as triage estimates it."""
    temporary: float
    """Share of objects (0 to 1) that were freed before the same thread allocated again."""
    sizes: list[SizeBin] = []
    calls: dict[str, int] = {}
    """By function: malloc, calloc, realloc, free, ..."""
    aligned: int = 0
    """Of `calls`, those that ask for an alignment: glibc's thread cache serves none of them."""
    reallocs: int = 0
    """Of `calls`, those that change the size of a block."""
    above_cache: float | None = None
    """Share of blocks (0 to 1) larger than glibc's thread cache keeps, exact up to a size bin; None without
    sizes."""
    freed_elsewhere: Estimate | None = None
    """Share of freed blocks (0 to 1) that another thread freed than allocated them; None where no sampled
    block was freed."""


class Slab(Record):
    """The kernel's own allocator, while the program ran."""

    growth: int | None = None
    """Bytes by which the machine's unreclaimable slabs grew: by this program or another."""
    samples: int | None = None
    """Samples inside the slab allocator's functions; None where the kernel hides its addresses."""


class KernelTime(Record):
    """Kernel code executed for the program, by samples."""

    calls: dict[str, int] = {}
    """By system call, most first: its name, or `call 451` where that has none here; `fault` for page faults
    and interrupts; `unknown` where the code does not say which call it makes."""
    functions: dict[str, int] = {}
    """By function of the kernel, most first; empty where it hides its names."""


class Wall(Record):
    """Breakdown of one program's time, and its requests to its allocator."""

    command: list[str]
    custom_title: bool = False
    """Whether `command` is a title that the process has given itself, and not a command."""
    pid: int = 0
    """The process observed with --pid; for a command, its first process."""
    allocator: str = ""
    """Who serves malloc: a name (glibc, jemalloc, go, jvm, ...), or the file."""
    unfinished: bool = False
    """Whether its time limit ended it, so that no whole run is known."""
    refused: bool = False
    """Whether it ended otherwise with a preload than without, so that nothing is preloaded in trials."""
    irreplaceable: str = ""
    """Why nothing can be preloaded into the program, so that no other allocator can serve it; else empty."""
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    user_seconds: float = 0.0
    system_seconds: float = 0.0
    threads: int = 0
    """The most that were seen at once."""
    share: Share | None = None
    """Of CPU time, executing in the allocator; None where nothing could be sampled."""
    owners: dict[str, int] = {}
    """Samples by who was executing (OWNERS); together they are `share.samples`."""
    locking: int = 0
    """Samples in the allocator's locks: `allocator` has them, too."""
    filling: int = 0
    """Samples in memset for calloc, or in memcpy for realloc: `allocator` has them, too."""
    kernel: bool = False
    """Whether samples in the kernel are among them."""
    kernel_time: KernelTime = KernelTime()
    linked: list[Linked] = []
    """Allocators that are linked in. Where one is not `seen`, its time is in `other`, the allocator's share
    is a lower bound, and what allocation takes is not known."""
    unsampled: float | None = None
    """Part of CPU time (0 to 1) that no sample covers: threads too short to be sampled, lost samples; without
    kernel samples of user time. None where nothing was sampled from outside. A few percent are ordinary."""
    hints: list[Hint] = []
    hot: list[Hot] = []
    """By samples, most first."""
    requests: Requests = Requests()
    counted: Counted | None = None
    faults: Faults = Faults()
    calls: dict[str, CallCount] | None = None
    """By name (CALLS); None if they were not traced."""
    waiting: Waiting | None = None
    latency: Latency | None = None
    """Of malloc, sampled, without the cost of reading the clock."""
    resident: Resident = Resident()
    growth: Growth | None = None
    """Of the counted run; None where memory did not grow until its end."""
    collections: list[Collector] = []
    slab: Slab | None = None
    calibration: Calibration = Calibration()
    """What the verdict compares the cost of a block and of a page fault with."""
    notes: list[str] = []
    """What a reader must know: what could not be measured, and why."""
