"""Claims about glibc's malloc: arenas, locks, thresholds, the thread's cache. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import At
from reap.study.allocator_wall.asks import CACHE_SIZES, NO_CACHE, ONE_ARENA, TUNED, WIDE, crowds, point
from reap.study.allocator_wall.judge.rules import Judge, claim, found, times, within
from reap.study.judging import MARGIN, at_least, at_most
from reap.study.records import Conclusion, Finding

ABOUT = "glibc"
HALF = 0.5
LOCK_SHARE = 0.1
"""Of samples in waiting for a lock: a third of the text's 30 %."""
BANDAGE = 0.67
"""What is left of the cost: where a third of it is gone, it is more than a bandage."""
SLOW = 0.2
"""The least share of slow operations that makes two modes."""


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    return [_arenas(judge), *_locks(judge), *_threshold(judge), *_cache(judge)]


def _arenas(judge: Judge) -> Conclusion:
    arenas = judge.figures.value("structure", DEFAULT, "arenas", "arenas")
    each = arenas and times(arenas, 1 / judge.cores)
    return claim(
        ABOUT,
        "There are 8 arenas a processor.",
        "N = 8 * num_cpus by default on 64-bit",
        "arenas that malloc_info names, when twice as many threads hold memory, to "
        "processors: 7.9 to 8.1 is for it",
        [found(DEFAULT, "arenas a processor", each, within(7.9, 8.1))],
    )


def _locks(judge: Judge) -> list[Conclusion]:
    _, usual, more, many = crowds(judge.cores)
    places = [(DEFAULT, usual), (DEFAULT, many), (ONE_ARENA, usual), (NO_CACHE, usual)]
    figures = judge.figures
    return [
        claim(
            ABOUT,
            "At high concurrency malloc serialises on a lock of an arena.",
            "every allocation in that arena serialises on the mutex",
            "times that a thread went to sleep in a thousand requests of 100 allocations, and nothing "
            "else, over "
            "glibc as it is: above 10 is for it",
            [
                found(DEFAULT, f"sleeps, {point(100, count)}",
                      figures.value("threads", DEFAULT, point(100, count), "sleeps_per_1000"), at_least(10))
                for count in (usual, more, many)
            ],
        ),
        claim(
            ABOUT,
            "Threads that wait for the arena's lock are seen on the processor, in __lll_lock_wait.",
            "__lll_lock_wait taking 30 % of CPU",
            "share of samples in __lll_lock_wait_private: above 0.1 is for it; over glibc as it is, and "
            "made worse "
            "by one arena, and by no cache of the thread",
            [
                found(arm, f"samples, {point(100, count)}",
                      figures.value("threads", arm, point(100, count), "on_cpu_share"), at_least(LOCK_SHARE))
                for arm, count in places
            ],
        ),
        claim(
            ABOUT,
            "More workers make contention worse.",
            "the wrong fix is to add more workers",
            "requests a second with four threads a processor to those with one: below 1/1.05 is for it",
            [
                found(arm, "4 threads a processor to 1", _rate(judge, arm, more, usual), at_most(1 / MARGIN))
                for arm in (DEFAULT, ONE_ARENA, NO_CACHE)
            ],
        ),
    ]  # fmt: skip


def _rate(judge: Judge, arm: str, upper: int, lower: int) -> Estimate | None:
    above, below = (At("threads", arm, point(100, count), "rate") for count in (upper, lower))
    return judge.figures.ratio(above, below)


def _threshold(judge: Judge) -> list[Conclusion]:
    setting = "100 to 200 KB"

    def slow(arm: str) -> Estimate | None:
        return judge.figures.value("structure", arm, setting, "slow_share")

    pinned = "glibc, mmap at 128 KB"
    both = judge.figures.ratio(
        At("structure", pinned, setting, "slow_ns"), At("structure", pinned, setting, "quick_ns")
    )
    faults = judge.figures.value("structure", pinned, f"{setting}, touched", "faults_per_second")
    return [
        claim(
            ABOUT,
            "Sizes around 128 KB have two modes: some are mapped, some are not.",
            "the latency profile becomes bimodal",
            "share of malloc and free of 100 to 200 KB that takes more than 1.5 µs: above 0.2 is for it, "
            "of glibc "
            "as it is, whose threshold follows what is freed",
            [found(DEFAULT, "slow operations", slow(DEFAULT), at_least(SLOW))],
            "outdated",
        ),
        claim(
            ABOUT,
            "Crossing the threshold makes an operation tens of times slower.",
            "turns a ~150 ns operation into a ~5-10 µs syscall",
            "with the threshold held at 128 KB: slow operations to quick ones, in nanoseconds: above 10 is "
            "for it",
            [found(pinned, "slow to quick", both, at_least(10))],
        ),
        claim(
            ABOUT,
            "M_MMAP_THRESHOLD = 1 MB keeps all of it in the arena.",
            "the fix is mallopt(M_MMAP_THRESHOLD, 1 << 20)",
            "share of slow operations with that: at most 0.2 is for it; the second figure has "
            "M_TRIM_THRESHOLD = 64 "
            "MB beside it, which the text does not say",
            [
                found("glibc, mmap at 1 MB", "slow operations", slow("glibc, mmap at 1 MB"), at_most(SLOW)),
            ],
        ),
        claim(
            ABOUT,
            "With M_TRIM_THRESHOLD raised beside it, it does. (Not in the text.)",
            "not said",
            "share of slow operations with thresholds of 1 MB and 64 MB: at most 0.2 is for it",
            [found(WIDE, "slow operations", slow(WIDE), at_most(SLOW))],
        ),
        claim(
            ABOUT,
            "Mapped blocks make more than a million page faults a second.",
            "page-faults at 1.2M/sec",
            "minor faults of a thread that maps, touches and unmaps 100 to 200 KB in a second of a "
            "processor, times processors: above a million is for it",
            [
                found(
                    pinned,
                    "faults a second, all processors",
                    faults and times(faults, judge.cores),
                    at_least(1e6),
                )
            ],
        ),
    ]


def _cache(judge: Judge) -> list[Conclusion]:
    def past(size: int, field: str) -> Estimate | None:
        return judge.figures.value("structure", DEFAULT, f"batches of 100, {size} B", field)

    def left(count: int, arm: str) -> list[Finding]:
        own, plain = (At("knee", each, point(count, 1), "excess_ns") for each in (arm, DEFAULT))
        return found(arm, f"N={count}", judge.figures.ratio(own, plain), at_least(BANDAGE))

    return [
        claim(
            ABOUT,
            "A thread's cache keeps 7 objects of a class: of batches of 100, 93 % go to the arena.",
            "still falls back to the arena lock 93% of the time",
            "share of mallocs, of batches of 100 of one size, that change what the arena has in use: 0.90 "
            "to 0.96 "
            "is for it",
            [
                found(DEFAULT, f"mallocs of {size} B", past(size, "made_past"), within(0.90, 0.96))
                for size in CACHE_SIZES
            ],
        ),
        claim(
            ABOUT,
            "Of such batches, 93 % of frees go past the cache.",
            "the same sentence",
            "the same share, of frees",
            [
                found(DEFAULT, f"frees of {size} B", past(size, "freed_past"), within(0.90, 0.96))
                for size in CACHE_SIZES
            ],
        ),
        claim(
            ABOUT,
            "glibc.malloc.tcache_count is but a bandage.",
            "it remains a band-aid",
            "cost of an allocation with tcache_count set, to that without: above 0.67 is for it, as a "
            "third of "
            "the cost is more than a bandage",
            [left(count, arm) for count in (100, 300) for arm in TUNED.values()],
        ),
    ]
