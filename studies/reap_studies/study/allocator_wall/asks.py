"""What the study of the allocator wall asks its program in C++: each part as a list of runs. Starts none.

Arms of one setting are compared with each other; they run in each round, one after another.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Allocator, Launch
from reap_studies.study.allocator_wall.records import Place
from reap_studies.study.records import Mode

COUNTS = (1, 3, 10, 30, 100, 300, 1000)
"""Allocations of a request."""
LOADS = (30, 60, 85)
"""Of the rate that glibc reaches in a closed loop: percent at which requests come in the open one."""
CACHE_SIZES = (64, 120, 256, 1000, 2000)
WAIT = 12
"""Seconds after memory was freed: jemalloc's decay takes 10."""
ONE_ARENA = "glibc, one arena"
NO_CACHE = "glibc, one arena, no tcache"
REGION, POOL, SHARED = "region", "pool a thread", "pool of all"
WIDE = "glibc, both thresholds"
TUNED = {count: f"glibc, tcache_count={count}" for count in (64, 1000)}
_TUNABLES = {
    **{name: f"tcache_count={count}" for count, name in TUNED.items()},
    ONE_ARENA: "arena_max=1",
    NO_CACHE: "arena_max=1:tcache_count=0",
    "glibc, trim at 64 KB": "trim_threshold=65536",
    "glibc, mmap at 128 KB": "mmap_threshold=131072",
    "glibc, mmap at 1 MB": "mmap_threshold=1048576",
    WIDE: "mmap_threshold=1048576:trim_threshold=67108864",
}

NAMES = ("TCMALLOC_HEAP_SIZE_HINT", "TCMALLOC_")
"""Of variables: the one that is said to be, and how all begin."""

Reading = Literal["said", "tail", "counted", "named"]


@dataclass(frozen=True)
class Ask:
    """One run to be made, in every round or in so many of them."""

    place: Place
    launch: Launch
    reading: Reading = "said"
    """What the program says; the latencies that it wrote; how often it allocated, from two recordings; or how
    often the words of `argv` stand in the allocator's file, for which nothing is run."""
    rounds: int = 0
    """0: all. What is counted and never differs needs but few."""
    sleeps: bool = False
    """It waits most of the time: runs with its likes beside it."""
    assigns: bool = False
    """Its words are `KEY=VALUE`, and not `KEY VALUE`."""

    def told(self, key: str, value: object) -> Launch:
        """The same run with one word more."""
        words = [f"{key}={value}"] if self.assigns else [key, str(value)]
        return msgspec.structs.replace(self.launch, argv=[*self.launch.argv, *words])


@dataclass(frozen=True)
class Bench:
    """What there is to ask with."""

    program: Launch
    """request-driver, without words."""
    allocators: Sequence[Allocator]
    mode: Mode
    cores: int
    script: Launch = field(default_factory=lambda: Launch(argv=[], program=""))
    """The same in Python."""
    parsers: Sequence[str] = ("json",)
    go: Launch | None = None
    """The same in Go; None where it could not be compiled."""

    def ask(
        self,
        part: str,
        arm: str,
        setting: str,
        words: str,
        *,
        library: str = "",
        environment: Mapping[str, str] | None = None,
        reading: Reading = "said",
        rounds: int = 0,
        sleeps: bool = False,
    ) -> Ask:
        """A run of the program in C++ with these words."""
        variables = {**self.program.environment, **(environment or {})}
        if arm in _TUNABLES:
            variables["GLIBC_TUNABLES"] = ":".join(
                f"glibc.malloc.{each}" for each in _TUNABLES[arm].split(":")
            )
        launch = Launch(
            argv=[*self.program.argv, "ask", *words.split()],
            program=self.program.program,
            directory=self.program.directory,
            allocator=library,
            environment=variables,
            # What is measured over an allocator is measured over no other.
            remove=["LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_CONF"],
            timeout=300,
        )
        return Ask(Place(part=part, arm=arm, setting=setting), launch, reading, rounds, sleeps)

    def each(self, part: str, setting: str, words: str, *, reading: Reading = "said") -> list[Ask]:
        """The same over every allocator."""
        return [
            self.ask(part, each.name, setting, words, library=each.library, reading=reading)
            for each in self.allocators
        ]

    def library(self, name: str) -> str | None:
        """An allocator's file; None where it is not among those that are measured."""
        return next((each.library for each in self.allocators if each.name == name), None)


def knee(bench: Bench) -> list[Ask]:
    """What an allocation costs by how many a request makes, and by threads."""
    blocks = "blocks 5 block_us 2000" if bench.mode == "quick" else "blocks 9 block_us 8000"
    asks = []
    for count in COUNTS:
        words = f"cost objects {count} threads {bench.cores} work 2048 {blocks}"
        asks += bench.each("knee", loaded_point(count), words)
        asks.append(bench.ask("knee", REGION, loaded_point(count), f"{words} memory region"))
    for threads in sorted({1, 2, bench.cores}):
        for count in COUNTS:
            setting, words = point(count, threads), f"cost objects {count} threads {threads} {blocks}"
            asks += bench.each("knee", setting, words)
            asks += [bench.ask("knee", name, setting, words) for name in TUNED.values()]
            asks.append(bench.ask("knee", REGION, setting, f"{words} memory region"))
    words = f"cost objects 100 threads {bench.cores} {blocks}"
    asks += bench.each("knee", f"{POOL}, {point(100, bench.cores)}", f"{words} memory pool")
    asks += bench.each("knee", f"{SHARED}, {point(100, bench.cores)}", f"{words} memory shared")
    words = f"cost objects 30 threads {bench.cores} {blocks} memory region"
    asks += bench.each("knee", f"{REGION}, {point(30, bench.cores)}", words)
    return asks


def point(count: int, threads: int) -> str:
    """A setting: so many allocations a request, on so many threads."""
    return f"N={count}, {threads} {'thread' if threads == 1 else 'threads'}"


def loaded_point(count: int) -> str:
    """A setting: so many allocations in requests that do some 2 µs of other work, on all processors."""
    return f"N={count}, beside 2 µs of work"


def threads(bench: Bench) -> list[Ask]:
    """Nothing but allocation, on as many threads as there are processors, on more, and on very many."""
    asks = []
    for count in crowds(bench.cores):
        # The kernel's tick samples a thread every 4 ms: a block must be long enough to be seen.
        block = max(10_000, 40_000 * bench.cores // count) * (1 if bench.mode == "quick" else 4)
        words = f"locks objects 100 work 0 threads {count} blocks 3 block_us {block}"
        setting = point(100, count)
        asks += bench.each("threads", setting, words)
        asks += [bench.ask("threads", name, setting, words) for name in (ONE_ARENA, NO_CACHE)]
    return asks


def crowds(cores: int) -> tuple[int, int, int, int]:
    """How many threads: one, one a processor, some more, and twice as many as there are arenas."""
    return 1, max(2, cores), 4 * cores, 16 * cores


def closed(bench: Bench) -> list[Ask]:
    """Latencies in a closed loop, which says what rate there can be."""
    requests = 20_000 if bench.mode == "quick" else 200_000
    words = f"latency objects 100 threads {bench.cores} requests {requests}"
    return bench.each("latency", "closed", words, reading="tail")


def opened(bench: Bench, capacity: float) -> list[Ask]:
    """Latencies in an open loop, at shares of the capacity, the same for every allocator."""
    requests = 20_000 if bench.mode == "quick" else 200_000
    words = f"latency objects 100 threads {bench.cores} requests {requests}"
    return [
        ask
        for load in LOADS
        for ask in bench.each(
            "latency", loaded(load), f"{words} rate {round(capacity * load / 100)}", reading="tail"
        )
    ]


def loaded(load: int) -> str:
    """A setting: an open loop at so many percent."""
    return f"open, {load} %"


def memory(bench: Bench) -> list[Ask]:
    """What stays of memory that was freed, at once and after a while; what a steady program holds."""
    climb = "climb megabytes 100"
    asks = [
        bench.ask("memory", DEFAULT, "pinned", climb, rounds=3),
        bench.ask("memory", "glibc, trim at 64 KB", "pinned", climb, rounds=3),
        bench.ask("memory", DEFAULT, "pinned, then malloc_trim(0)", f"{climb} trim 1", rounds=3),
        *(
            bench.ask(
                "memory",
                DEFAULT,
                f"1 in {some} survives, then malloc_trim(0)",
                f"{climb} pin 0 trim 1 keep_one_in {some}",
                rounds=3,
            )
            for some in (100, 4)
        ),
    ]
    turns = 1_000_000 if bench.mode == "quick" else 5_000_000
    asks += bench.each("memory", "steady", f"steady threads {bench.cores} turns {turns}")
    library = bench.library("jemalloc")
    if library is None:
        return asks
    later = f"climb megabytes 40 wait_ms {WAIT * 1000}"
    for arm, words, options in (
        ("jemalloc, idle", later, ""),
        ("jemalloc, some work", f"{later} busy 1", ""),
        ("jemalloc, idle, background_thread", later, "background_thread:true"),
        ("jemalloc, some work, muzzy_decay_ms=60000", f"{later} busy 1", "muzzy_decay_ms:60000"),
    ):
        environment = {"MALLOC_CONF": options} if options else {}
        asks.append(
            bench.ask("memory", arm, f"{WAIT} s later", words, library=library, environment=environment,
                      rounds=3, sleeps=True)
        )  # fmt: skip
    asks.append(bench.ask("memory", DEFAULT, f"{WAIT} s later", f"{later} busy 1", rounds=3, sleeps=True))
    return asks


def structure(bench: Bench) -> list[Ask]:
    """Arenas, caches, classes and thresholds."""
    arenas = f"arenas threads {16 * bench.cores}"
    asks = [
        bench.ask("structure", DEFAULT, "arenas", arenas, rounds=2),
        *(
            bench.ask("structure", DEFAULT, f"batches of 100, {size} B", f"cache size {size}", rounds=2)
            for size in CACHE_SIZES
        ),
        *(
            bench.ask("structure", arm, "100 to 200 KB", "threshold")
            for arm in (DEFAULT, "glibc, mmap at 128 KB", "glibc, mmap at 1 MB", WIDE)
        ),
        bench.ask(
            "structure", "glibc, mmap at 128 KB", "100 to 200 KB, touched", "threshold touch 1 turns 1000"
        ),
        bench.ask("structure", DEFAULT, "4 KB from a socket", "receive"),
        *bench.each("structure", "1 to 16 MB", "threshold low 1048576 high 16777216 turns 1000"),
    ]
    asks += [
        bench.ask("structure", name, "classes", "classes", library=library, rounds=2)
        for name in ("jemalloc", "tcmalloc")
        if (library := bench.library(name)) is not None
    ]
    if (library := bench.library("jemalloc")) is not None:
        asks.append(bench.ask("structure", "jemalloc", "of itself", "jemalloc", library=library, rounds=2))
    if (library := bench.library("tcmalloc")) is not None:
        place = Place(part="structure", arm="tcmalloc", setting="names in its library")
        asks.append(Ask(place, Launch(argv=list(NAMES), program="", allocator=library), "named", rounds=1))
    return asks
