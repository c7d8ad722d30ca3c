"""Claims about glibc's malloc: arenas, locks, thresholds, the thread's cache. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.asks import (
    CACHE_SIZES,
    NO_CACHE,
    ONE_ARENA,
    TUNED,
    WIDE,
    crowds,
    point,
)
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged, times
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Conclusion, Finding


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    return [*_arenas(judge), *_locks(judge), *_threshold(judge), *_cache(judge)]


def _arenas(judge: Judge) -> list[Conclusion]:
    arenas = judge.figures.value("structure", DEFAULT, "arenas", "arenas")
    each = arenas and times(arenas, 1 / judge.cores)
    return judged(
        judge, {"arenas-per-processor": lambda it: [found(DEFAULT, "arenas a processor", each, it.judged)]}
    )


def _locks(judge: Judge) -> list[Conclusion]:
    _, usual, more, many = crowds(judge.cores)
    places = [(DEFAULT, usual), (DEFAULT, many), (ONE_ARENA, usual), (NO_CACHE, usual)]
    figures = judge.figures
    return judged(
        judge,
        {
            "arena-lock-sleeps": lambda it: [
                found(
                    DEFAULT,
                    f"sleeps, {point(100, count)}",
                    figures.value("threads", DEFAULT, point(100, count), "sleeps_per_1000"),
                    it.judged,
                )
                for count in (usual, more, many)
            ],
            "arena-lock-samples": lambda it: [
                found(
                    arm,
                    f"samples, {point(100, count)}",
                    figures.value("threads", arm, point(100, count), "on_cpu_share"),
                    it.judged,
                )
                for arm, count in places
            ],
            "more-workers": lambda it: [
                found(arm, "4 threads a processor to 1", _rate(judge, arm, more, usual), it.judged)
                for arm in (DEFAULT, ONE_ARENA, NO_CACHE)
            ],
        },
    )


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
    return judged(
        judge,
        {
            "mmap-threshold-modes": lambda it: [found(DEFAULT, "slow operations", slow(DEFAULT), it.judged)],
            "mmap-threshold-cost": lambda it: [found(pinned, "slow to quick", both, it.judged)],
            "mmap-threshold-raised": lambda it: [
                found("glibc, mmap at 1 MB", "slow operations", slow("glibc, mmap at 1 MB"), it.judged),
            ],
            "both-thresholds-raised": lambda it: [found(WIDE, "slow operations", slow(WIDE), it.judged)],
            "page-faults": lambda it: [
                found(
                    pinned,
                    "faults a second, all processors",
                    faults and times(faults, judge.cores),
                    it.judged,
                )
            ],
        },
    )


def _cache(judge: Judge) -> list[Conclusion]:
    def past(size: int, field: str) -> Estimate | None:
        return judge.figures.value("structure", DEFAULT, f"batches of 100, {size} B", field)

    def left(count: int, arm: str, judged: Judged) -> list[Finding]:
        own, plain = (At("knee", each, point(count, 1), "excess_ns") for each in (arm, DEFAULT))
        return found(arm, f"N={count}", judge.figures.ratio(own, plain), judged)

    return judged(
        judge,
        {
            "tcache-mallocs": lambda it: [
                found(DEFAULT, f"mallocs of {size} B", past(size, "made_past"), it.judged)
                for size in CACHE_SIZES
            ],
            "tcache-frees": lambda it: [
                found(DEFAULT, f"frees of {size} B", past(size, "freed_past"), it.judged)
                for size in CACHE_SIZES
            ],
            "tcache-count-bandage": lambda it: [
                left(count, arm, it.judged) for count in (100, 300) for arm in TUNED.values()
            ],
        },
    )
