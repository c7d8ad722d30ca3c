"""Outcome of a launched program, as the kernel accounts for it."""

from reap.base.records import Record


class Private(Record):
    """A copy-on-write view of folders, which one run of a program has for itself.

    What it writes there is thrown away when it has ended.
    """

    folders: list[str]
    """None is in another."""
    files: list[str] = []
    """Those in them that are copied before it starts, so that it does not pay for that at its first write."""


class Launch(Record):
    """One program to be run, and how."""

    argv: list[str]
    """The program's own arguments, its name first."""
    program: str
    """The file to execute."""
    directory: str = ""
    """Where it runs; empty for here."""
    preloads: list[str] = []
    """Reap's own objects, which come before the allocator."""
    allocator: str = ""
    """The allocator's library; empty for the C library's own."""
    environment: dict[str, str] = {}
    """Variables to set beside those of this process."""
    remove: list[str] = []
    """Variables to remove."""
    stdin: str = ""
    """A file to read standard input from; empty for nothing when captured, or for this process's own."""
    capture: bool = True
    """Count, hash and discard its output. If not, its streams and terminal are those of this process."""
    keep: str = ""
    """A file to append captured output to, too, at most 16 MB of each stream; empty: it is discarded."""
    timeout: float | None = None
    """Seconds after which it is ended; None for never."""
    interruptible: bool = False
    """Ctrl-C ends it as a time limit does, and what it cost until then is told; where it is captured."""
    probe: bool = False
    """See where its allocation functions come from. Not for a run that is measured."""
    requests: bool = False
    """Time the requests that it marks (reap/mark.h, `reap.mark`): about 100 ns of CPU time for each."""
    resident: bool = False
    """Sample its memory over its time, from outside. Not for a run that is sampled or counted."""
    private: Private | None = None
    """What it gets a view of for itself."""
    options: list[str] = []
    """Further options of the launcher."""
    passed: list[int] = []
    """Descriptors that these options name."""


class RequestTimes(Record):
    """Times of the marked requests of a process tree, and their number in a second.

    Percentiles are those of the requests themselves, by nearest rank: each is the time of a request.
    """

    count: int
    """Requests that began and ended."""
    per_second: float
    """From the begin of the first to the end of the last; 0 without requests."""
    p50_ns: int
    p99_ns: int
    p999_ns: int
    max_ns: int
    unfinished: int = 0
    """Threads that were in a request when they, or their process, ended."""
    unmatched: int = 0
    """Ends that no begin had come before in their thread."""
    lost: int = 0
    """Requests that were not recorded, because the disk was full or the file out of reach."""


class Ahead(Record):
    """Cost of touching memory ahead of the program, in a preload that measures the price of allocation.

    CPU time and faults are already subtracted from those of the run.
    """

    cpu_ns: int = 0
    free_ns: int = 0
    """CPU time that the kernel needs to free that memory when the process ends, an estimate."""
    faults: int = 0
    bytes: int = 0
    ended: bool = False
    """Whether its memory ended in some process, which then went on as an ordinary allocator: the run does
    not show what it is for."""
    uncounted: int = 0
    """Processes that nobody waited for: the kernel counts neither their work nor this."""
    overwritten: bool = False
    """The program overwrote the report: nothing is subtracted."""


class LoadLatency(Record):
    """Of a load at a fixed rate, an open loop: from when each request was due to its answer, in nanoseconds.

    A percentile is None where the load does not report it, or made too few requests for it.
    """

    due_per_second: float
    """Requests that were due."""
    per_second: float
    """Requests that were answered."""
    mean_ns: float
    p50_ns: float | None = None
    p99_ns: float | None = None
    p999_ns: float | None = None
    late_ns: float = 0.0
    """P99 of how late the load itself sent a request that could have been sent; 0 where that is unknown."""


class Loaded(Record):
    """Cost of one load to a server."""

    cpu_ns: int
    wall_ns: int
    """Of the load."""
    requests: int = 0
    """That the load made; 0 where that is unknown."""
    latency: LoadLatency | None = None
    """None of a load at no fixed rate, or where latency does not count from when a request was due."""


class Outcome(Record):
    """One run of a program, from its launcher. Times in nanoseconds, memory in bytes.

    CPU time, faults and switches are those of the program and of the children it waited for
    (wait4's rusage); `peak_resident` is the largest of them, not their sum.
    """

    exit_code: int
    """The program's own exit code; meaningless when `signal` is set."""
    signal: int = 0
    """The signal that ended the program, or 0."""
    timed_out: bool = False
    interrupted: bool = False
    """Ctrl-C ended it, as it was `interruptible`."""
    wall_ns: int = 0
    user_ns: int = 0
    system_ns: int = 0
    peak_resident: int = 0
    minor_faults: int = 0
    major_faults: int = 0
    voluntary_switches: int = 0
    involuntary_switches: int = 0
    mean_resident: int | None = None
    """If requested: mean memory over time (PSS) of the program and its children together. None where it was
    not requested, or the program ended before the first sample."""
    settled_resident: int | None = None
    """The same settled: the time-weighted median over the second half of the run (`process.settled`)."""
    resident_over_time: list[tuple[float, int]] = []
    """If requested: that memory at moments, in seconds since the start; of many, some."""
    stdout_bytes: int = 0
    """Bytes that the program wrote, when its output was captured."""
    stdout_digest: str = ""
    """XXH3-128 of the output in hexadecimal, when it was captured."""
    stderr_bytes: int = 0
    stderr_digest: str = ""
    stderr_tail: str = ""
    """The last of its standard error, for messages (at most 2 KB)."""
    malloc_provider: str = ""
    """The file that `malloc` came from, if requested."""
    events: int | None = None
    """How often the counted event happened in user mode, in the program, its threads and the children that
    ended before it; None where it was not counted."""
    written_bytes: int | None = None
    """Where it had a private view: what the files that it changed take there."""
    written_digest: str = ""
    """Of their names, modes and contents; empty where these are more than 256 MB, or could not be read."""
    requests: RequestTimes | None = None
    """If requested: of the requests that it marked; else None."""
    ahead: Ahead | None = None
    """Under a preload that measures the price of allocation; else None."""
    still_running: list[str] = []
    """Of a recorded program: processes that it started and that run on after it, as `name (pid N)`."""
    linked: str = ""
    """Of a recorded program: how calls of an allocator that is linked into it were watched, a clause."""
    nameless: str = ""
    """Of a recorded program: why the recording could not keep the names of functions; empty where it did."""
    refused: list[str] = []
    """Of a recorded program: debug files of another build, which gave it no names."""
    failure: str = ""
    """Why its figures are invalid, a sentence, where neither exit code nor signal says so."""
    restarted_ns: int = 0
    """Of runs at the same time: how long it was restarted for others after its end."""
    loads: list[Loaded] = []
    """Of a server: what each measured load cost it. CPU time and wall time are those of all together."""
    loading_ns: int = 0
    """Of a server: wall time of its measured loads with what is between them."""
    heap: dict[str, dict[str, str]] = {}
    """If requested: by executable of the process tree, in the order they started, the file that serves each
    allocation function."""

    @property
    def cpu_ns(self) -> int:
        """User and system time together."""
        return self.user_ns + self.system_ns

    @property
    def served(self) -> int:
        """Requests of all loads of a server together; 0 where that is unknown."""
        counts = [each.requests for each in self.loads]
        return sum(counts) if all(counts) else 0

    @property
    def status(self) -> int:
        """Status as a shell would show it: the exit code, or 128 + the signal."""
        return 128 + self.signal if self.signal else self.exit_code


class Misses(Record):
    """Cache misses of a run, in user mode, its littering left out."""

    instructions: int
    first: int
    """Accesses to data that the first level did not have."""
    last: int
    """Those that the last level did not have; in simulated caches with those to instructions."""
    accesses: int | None = None
    """To data: reads and writes in simulated caches, and reads alone by a processor's counters."""
    tlb: int | None = None
    """Reads whose page's translation was not at hand; None where that is not known."""
    caches: list[str] = []
    """The model's own words for its levels; empty where a processor counted."""


class Machine(Record):
    """The machine that the figures were taken on."""

    processor: str
    cores: int
    """Processors this process may use."""
    memory: int
    """Bytes of physical memory."""
    kernel: str
    system: str
    """The distribution's own name for itself."""
    libc: str
    virtual: str
    """Hypervisor, or empty on bare metal (as far as the machine lets one see)."""
    huge_pages: str
    """Transparent huge pages: `always`, `madvise`, `never`, or empty."""


class Calibration(Record):
    """Cost of a block and of a page on the machine, in seconds of CPU time: verdicts compare with these.

    The defaults are those of the knee's table (`reap study allocator-wall` reproduces it). They stand in
    where nothing was measured, and in files of an older reap.
    """

    fast_pair: float = 7e-9
    """A malloc and its free of one hot block. The default is the fastest allocator's, 7 to 8 ns at any number
    of allocations a request."""
    usual_pair: float = 13e-9
    """The same with 30 blocks a request, which the thread's cache holds: 10 to 13 ns in the table."""
    past_pair: float = 28e-9
    """The same with 100 blocks a request, which it does not hold."""
    page_fault: float = 1e-6
    """A page fault in the kernel, with clearing the page and returning it: about half of it on bare metal and
    twice as much on some virtual machines."""
    measured: bool = False
    """On this machine; if not, these are the defaults."""

    @property
    def plausible(self) -> bool:
        """Whether these are times that a machine can have, in their order."""
        ordered = 0 < self.fast_pair <= self.usual_pair <= self.past_pair < _LONGEST_PAIR
        return ordered and 0 < self.page_fault < _LONGEST_FAULT


_LONGEST_PAIR = 10e-6
_LONGEST_FAULT = 1e-3
