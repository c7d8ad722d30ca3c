"""Results of a recording. Sizes in bytes, times in seconds unless a name says otherwise."""

from typing import Literal

from reap.base.records import Estimate, Record


class Totals(Record):
    """The columns of Table 3 in the OOPSLA 2002 paper, for one process or for the whole tree."""

    total_objects: int
    max_objects: Estimate
    """Most objects in use at once."""
    average_size: float
    total_bytes: int
    max_bytes: Estimate
    """Most bytes in use at once."""
    total_over_max: float
    """Total bytes over most bytes in use: how often the heap was turned over."""


class Process(Record):
    """One process image of the recorded tree (a fork or an exec makes a new one)."""

    image: int
    pid: int
    name: str
    command: list[str]
    allocator: str
    """The file that serves malloc in it."""
    totals: Totals
    recorded: bool = True
    note: str = ""


class SizeBin(Record):
    """Allocations of `low` to `high` bytes, both included; powers of two as in Figure 2 (ISMM 2026)."""

    low: int
    high: int
    objects: int
    bytes: int


class LifetimeBin(Record):
    """Objects that lived from `low` to below `high` seconds; `high` is None for those never freed."""

    low: float
    high: float | None
    objects: float
    bytes: float


class Caller(Record):
    """A function on the way to a site, in a tree that is listed depth first."""

    depth: int
    """1: it called the site; 2: it called the one before it of depth 1; ..."""
    function: str
    location: str
    objects: float
    """Of the site, what was allocated through here."""
    bytes: float


class Site(Record):
    """Allocation site. Counts are estimates in a triage recording."""

    function: str
    location: str
    """`file:line`, or `module+0x1234` without debug information."""
    module: str
    stack: list[str]
    """Innermost first, as `function (location)`."""
    objects: float
    bytes: float
    temporary: float
    """Of the objects, how many were freed before the same thread allocated again."""
    live_at_peak: float
    """Bytes in use from here when the program used most."""
    objects_variance: float = 0.0
    """Of the estimate of `objects`; 0 where they were counted."""
    bytes_variance: float = 0.0
    via: str = ""
    """What the site called, where that is a library's function or, from Python, an extension; else empty."""
    callers: list[Caller] = []
    """Of each function the three with the most bytes, from 5 % of the site's on."""
    grew: Estimate | None = None
    """Bytes by which what stayed in use from here rose in the second half of the recording, by regression;
    None where it did not rise steadily to the end, or is not known. A sample too coarse for a regression has
    the difference, with an interval of its errors."""


PatternKind = Literal["temporaries", "constant-growth", "growing-pool", "overflowing-resource", "unoptimized"]


class Pattern(Record):
    """A way of allocating that the recording shows, and that a change of the program removes."""

    kind: PatternKind
    function: str
    location: str
    """The line of the program, `file:line`."""
    via: str
    """What that line called, as of a site."""
    figures: dict[str, Estimate]
    """What it rests on, exact or with its 95 % CI; sizes in bytes, shares from 0 to 1."""
    statement: str
    """What the recording shows, a sentence."""
    advice: str
    """What to change by hand, a sentence."""


class Point(Record):
    """One moment of a curve."""

    seconds: float
    bytes: float


class Latency(Record):
    """Sampled duration of one kind of call, in nanoseconds, each sample weighted by what it stands for."""

    call: str
    samples: int
    p50: float
    p90: float
    p99: float
    p999: float


class Share(Record):
    """Share of the sampled CPU time in which the instruction pointer was inside the allocator.

    It is below the marginal cost of allocation, which also has call overhead and cache effects.
    """

    method: Literal["perf", "timer"]
    samples: int
    """All samples, without those in the recorder itself."""
    inside: int
    kernel_inside: int
    """Of `inside`, those in the kernel on the allocator's behalf (page faults, brk, mmap)."""
    share: Estimate
    """0 to 1, with its 95 % CI."""
    sees_kernel: bool
    """Whether kernel time could be sampled."""
    lower_bound: bool = False
    """Whether an allocator without names is linked in, whose time is not among `inside`: what allocation
    takes is not known, and a share of 0 says nothing."""


class PerRequest(Record):
    """One quantity over the requests; percentiles by nearest rank, exact below 2,048, then within 0.8 %."""

    mean: float
    p50: int
    p99: int
    max: int


class PhaseRequests(Record):
    """Allocations of the marked requests that began in one phase, exactly, each in its own thread."""

    phase: str
    """As the program names it; empty before the first."""
    count: int
    allocations: PerRequest
    bytes: PerRequest


class Requests(Record):
    """Allocations of all marked requests, and by phase, exactly, each in its own thread."""

    count: int
    allocations: PerRequest
    bytes: PerRequest
    phases: list[PhaseRequests] = []
    """In the order of their first requests. Empty where the program named none."""


class Attached(Record):
    """Watch of processes from outside: in windows, whose calls stand for the times between, too."""

    windows: int
    share: float
    """Of the time, 0 to 1: how long calls were watched."""
    calls: int
    """Calls that met a probe."""
    overhead: float
    """CPU time that probes cost the process, to its own: 0.05 is 5 %. By what a probe costs, measured when
    watching began."""
    cpu_within: float
    """CPU time of the process for each second within windows, ..."""
    cpu_between: float
    """... and between them, where it runs as usual."""
    slowed: int
    """Windows in which probes took nearly all of its CPU time: rates are at least what is said."""
    lost: int
    """Samples that the kernel had no room for."""
    broken: int
    """Samples whose stack does not reach the first function of the thread."""
    from_start: bool = False
    """Since the program's first instruction (`--via uprobe`); else of a process that ran already."""
    unsampled: int = 0
    """Windows in which the kernel did not sample its CPU time: the part of probes is by calibration alone."""
    beside: bool = False
    """Beside a recorder that was preloaded: of allocators that are linked into files of the program."""


class Part(Record):
    """Part of the program's run that was recorded. Times in seconds after the program's start."""

    began: float
    start: str
    """What it began with, as `reap record` was told: phase:NAME, signal:NAME, the last N; empty: the
    program's start."""
    ended: float
    stop: str
    """What it ended with; empty: the program's end."""


class UnrecordedAllocator(Record):
    """An allocator with functions of its own in a module of the program, whose calls are not recorded."""

    module: str
    """The file that defines the functions."""
    allocator: str
    """The allocator's name, such as `jemalloc`."""
    function: str
    """One of the functions, such as `_rjem_malloc`; empty where the file does not name them."""
    watched: bool = False
    """Whether its calls were watched by uprobes instead: see `Linked`."""


class Linked(Record):
    """Calls of allocators that are linked into files of the program, watched by uprobes beside the recorder.

    All figures are estimates, and in no other figure of the profile.
    """

    objects: int
    bytes: int
    samples: int
    attached: Attached
    sites: list[Site]
    """By bytes, largest first."""
    calls: dict[str, int]
    """By function, as `malloc` for `_rjem_malloc`."""
    notes: list[str]
    """What a reader must know."""


class Unrecorded(Record):
    """A program of which nothing was recorded."""

    program: str
    """The name of its file."""
    processes: int
    why: str
    """A clause."""


class Coverage(Record):
    """Part of the program that the recording accounts for."""

    processes: int
    """Process images that are known of: a fork or an exec makes one."""
    recorded: int
    """Of these, how many are in the recording."""
    anonymous: float
    """Anonymous resident memory (heaps, stacks, written data) of all processes at its peak, in bytes, from
    the kernel; the recorder's own is in it. 0: not sampled."""
    live: float
    """Bytes in use at that time, of the recorded allocations; an estimate in a triage recording."""
    unrecorded: list[Unrecorded]
    cut: list[str]
    """Why the recording is not whole, a sentence each: it was cut short, is damaged, or still goes on."""


class Profile(Record):
    """Everything that `reap show` says of a recording."""

    command: list[str]
    depth: Literal["triage", "full"]
    seconds: float
    """From the start of the recording to its last event."""
    totals: Totals
    processes: list[Process]
    sizes: list[SizeBin]
    lifetimes: list[LifetimeBin]
    temporary: Estimate
    """Share of objects (0 to 1) that were freed before the same thread allocated again."""
    live: list[Point]
    resident: list[Point]
    """Resident memory of the recorded program's processes together, from the kernel."""
    rates: list[Point]
    """Allocations per second; `bytes` holds the rate."""
    sites: list[Site]
    """By bytes, largest first."""
    calls: dict[str, int]
    """Calls by function: malloc, calloc, realloc, free, ..."""
    latencies: list[Latency]
    share: Share | None
    """None where nothing could be sampled; `notes` says why."""
    samples: int
    """Sampled allocations behind the estimates; 0 in a full recording."""
    requests: Requests | None = None
    """None of a program that marks none."""
    part: Part | None = None
    """None of a recording of the whole run."""
    attached: Attached | None = None
    """Of a recording from outside: everything is an estimate, and nothing is known of lifetimes and of what
    is in use."""
    coverage: Coverage | None = None
    """None of a recording from outside."""
    labels: dict[str, str] = {}
    """As `reap record --label` was given them."""
    unrecorded_allocators: list[UnrecordedAllocator] = []
    """Allocators whose calls do not reach the recorder: no figure but those of `linked` covers them."""
    linked: Linked | None = None
    """None where nothing was watched beside the recorder."""
    grew: Estimate | None = None
    """Bytes by which what stayed in use rose in the second half, as of a site."""
    patterns: list[Pattern] = []
    """Ways of allocating that a change of the program removes."""
    notes: list[str] = []
    """What a reader must know: problems, truncation, what was not recorded."""
