"""The numbers that a verdict on the wall turns on, each with its reason. Shares are fractions of 1."""

FEWEST_SAMPLES = 100
"""Of CPU time. With fewer, the confidence interval of a share of 15 % is wider than 14 points."""

CAUSE_WORTH = 0.10
"""The minimum share of a program's time for a cause: saving half of it is a gain above WORTH_IT."""

LOCK_WORTH = 0.05
"""The minimum share of time that threads wait for the allocator's lock before the lock is blamed for the
time that other threads meanwhile spend on the slow path."""

WORTH_TRYING = 0.03
"""The minimum share for a trial: what gains less matters to nobody (`experiment.sequential.WORTH`)."""

WORTH_A_LOOK = 0.01
"""The minimum share for a trial where another showed that something gains: it may be measured too low."""

LARGE_RESIDENT = 32 << 20
"""Bytes of resident memory, from which on the processor's tables of small pages may miss: 8,192 entries."""

WORTH_TELLING = 0.05
"""The minimum share for reporting a secondary finding: nobody would act on less."""

WAITING_WORTH = 0.25
"""The minimum share of time that a program waits for one thing before that is called the cause."""

FASTEST = 7 / 13
"""What a malloc and its free take on the fast path of the fastest allocator, as a part of what they take in
glibc with a cache that holds every block: 7 and 13 ns in the knee's table (`reap study allocator-wall`
reproduces it). What they take on a machine is in `Wall.calibration`."""

KNEE_STEP = 28 / 13
"""How many times as much a pair takes past the knee, at least: 28 ns with 100 allocations per request in that
table, and 13 ns with 30. Where the calibration shows a smaller step, code that is not hot, or a busy machine,
would look like the slow path."""

GLIBC_NAMES = frozenset({"_int_malloc", "_int_free"})
"""Functions whose presence shows that glibc's internal names are known (its debug symbols are installed)."""

GLIBC_SLOW = frozenset(
    {"_int_malloc", "malloc_consolidate", "unlink_chunk", "sysmalloc", "systrim", "_int_realloc"}
)
"""Functions that a call enters when the thread's cache cannot serve it. `_int_free` fills that cache, too."""

SLOW_PART = 0.1
"""From this part of the allocator's samples on it takes the slow path: served by the cache it is 0."""

FRESH_BLOCK = 50 / 28
"""What a block that is the first at its place takes on the slow path, as a multiple of a pair past the knee:
50 ns on the machine of the table. It measured 13 to 30 ns for blocks of 64 and 200 bytes (`cause leak` and
`cause fresh` of the truth suite), and as much again for larger ones."""

FREES = 0.1
"""The minimum share of its blocks that a program frees before the caches may be to blame."""

TCACHE_LARGEST = 1032
"""Size in bytes of the largest block that glibc's thread cache keeps; no tunable raises it."""

CALLS_A_SECOND = 500
"""Calls for memory a second of CPU time, below which they take less than a percent of it (some
microseconds each with what follows from them)."""

FAULTS_A_CALL = 256
"""From a megabyte touched for every call on, the calls are under a tenth of the cost: it is the faults."""

PAST_MALLOC = 2
"""How many times all that malloc ever allocated a program's fresh pages must be, before they are said to be
none of malloc's: a page of its heap may come again for a block that is smaller than a page."""

PAST_MALLOC_BYTES = 16 << 20
"""... and at least so many bytes: whatever a program starts with is not meant."""

A_SLOW_FAULT = 300e-6
"""No page fault or call for memory takes more seconds on average: a huge page on a slow machine ..."""

SLOW_FAULT = 300
"""... or so many ordinary page faults of this machine, if that is more."""

TURNOVER = 3.0
"""How often a program must have its peak memory from the kernel again before that is called thrash: once is
growth, and a second time may be a phase that ends."""

MOSTLY = 0.5
"""The part of blocks from which on what is true of them is what the program does."""

OFTEN = 0.25
"""The part of frees by another thread, from which on those threads' caches hold what the owner lacks."""

LOCK_CALLS_A_SECOND = 100
"""Futex calls a second below which threads do not wait for each other's work: a join, a pool without any."""

LOCK_SEEN = 0.01
"""The equivalent share of CPU time in locks, where futex calls were not counted."""

FREE_PART = 0.5
"""From this part of resident memory on, free or lazily freed memory is what the figure is about ..."""

FREE_BYTES = 32 << 20
"""... and in bytes."""
