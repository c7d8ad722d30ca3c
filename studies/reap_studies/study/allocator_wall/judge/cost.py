"""Claims about the wall's shape: what allocations cost by number and by threads. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.asks import POOL, REGION, SHARED, loaded_point, point
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged, times
from reap_studies.study.judging.bounds import Judged
from reap_studies.study.records import Conclusion, Finding


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    return [*_prices(judge), *_shape(judge), *_regimes(judge), *_remedies(judge)]


def _at(arm: str, count: int, threads: int, field: str = "excess_ns") -> At:
    return At("knee", arm, point(count, threads), field)


def _to_glibc(judge: Judge, arm: str, count: int, threads: int) -> Estimate | None:
    return judge.figures.ratio(_at(DEFAULT, count, threads), _at(arm, count, threads))


def _prices(judge: Judge) -> list[Conclusion]:
    figures = judge.figures
    twenty = figures.ratio(
        _at(DEFAULT, 30, judge.cores), At("structure", DEFAULT, "4 KB from a socket", "receive_ns")
    )
    return judged(
        judge,
        {
            "cost-200-ns": lambda it: [
                found(
                    DEFAULT,
                    f"ns, {point(count, judge.cores)}",
                    figures.value(*_at(DEFAULT, count, judge.cores)),
                    it.judged,
                )
                for count in (30, 100, 1000)
            ],
            "twenty-cost-a-receive": lambda it: [
                found(DEFAULT, "20 allocations to one recv", twenty and times(twenty, 20), it.judged)
            ],
        },
    )


def _shape(judge: Judge) -> list[Conclusion]:
    figures, cores = judge.figures, judge.cores

    def halved(more: int, fewer: int) -> Estimate | None:
        grown = figures.ratio(*(At("knee", DEFAULT, loaded_point(n), "own_ns") for n in (more, fewer)))
        return grown and times(grown, fewer / more)

    growth = figures.grown(
        (_at(DEFAULT, 300, max(cores, 2)), _at(DEFAULT, 10, max(cores, 2))),
        (_at(DEFAULT, 300, 1), _at(DEFAULT, 10, 1)),
    )
    return judged(
        judge,
        {
            "half-throughput": lambda it: [
                found(DEFAULT, f"N={more} to N={fewer}", halved(more, fewer), it.judged)
                for fewer, more in ((1, 10), (10, 100), (100, 300), (300, 1000))
            ],
            "knee": lambda it: [
                found(
                    DEFAULT,
                    f"N=300 to N=10, threads: {threads}",
                    figures.ratio(_at(DEFAULT, 300, threads), _at(DEFAULT, 10, threads)),
                    it.judged,
                )
                for threads in sorted({1, max(cores, 2)})
            ],
            "knee-by-contention": lambda it: [
                found(DEFAULT, "growth with threads to growth with one", growth, it.judged)
            ],
        },
    )


def _regimes(judge: Judge) -> list[Conclusion]:
    cores = judge.cores

    def each(counts: tuple[int, ...], judged: Judged) -> list[list[Finding]]:
        return [
            found(arm, f"N={count}, glibc to it", _to_glibc(judge, arm, count, cores), judged)
            for count in counts
            for arm in judge.others
        ]

    return judged(
        judge,
        {
            "no-wall-under-10": lambda it: [
                found(
                    arm,
                    f"N={count}, to glibc",
                    judge.figures.ratio(
                        *(At("knee", name, loaded_point(count), "own_ns") for name in (arm, DEFAULT))
                    ),
                    it.judged,
                )
                for count in (1, 3)
                for arm in judge.others
            ],
            "left-of-the-knee": lambda it: each((3, 10), it.judged),
            "switch-from-30": lambda it: each((30, 100), it.judged),
            "right-of-the-knee": lambda it: each((100, 300), it.judged),
        },
    )


def _steps(judge: Judge) -> dict[str, Estimate | None]:
    """What each step leaves of the allocator's cost of a request, the text's three in turn."""
    figures, cores = judge.figures, judge.cores
    fewer = figures.ratio(_at(DEFAULT, 30, cores), _at(DEFAULT, 100, cores))
    regions = f"{REGION}, {point(30, cores)}"
    base, other = (At("knee", arm, regions, "excess_ns") for arm in (DEFAULT, "jemalloc"))
    return {
        "materialise less": fewer and times(fewer, 30 / 100),
        "then a region": figures.ratio(_at(REGION, 30, cores), _at(DEFAULT, 30, cores)),
        "then jemalloc": figures.ratio(other, base),
    }


def _remedies(judge: Judge) -> list[Conclusion]:
    figures, cores = judge.figures, judge.cores
    settings = {name: f"{name}, {point(100, cores)}" for name in (POOL, SHARED)}
    plain, region = (_at(arm, 100, cores, "own_ns") for arm in (DEFAULT, REGION))
    pooled = At("knee", DEFAULT, settings[POOL], "own_ns")
    shared, own = (At("knee", DEFAULT, settings[name], "rate") for name in (SHARED, POOL))
    flat = figures.ratio(_at(REGION, 1000, 1, "own_ns"), _at(REGION, 1000, 1, "floor_ns"))
    steps = _steps(judge)
    calls = figures.value("counts", "region", "100 objects", "allocations")
    return judged(
        judge,
        {
            "pooled-agree": lambda it: [
                found(
                    arm,
                    "pooled, to glibc",
                    figures.ratio(At("knee", arm, settings[POOL], "own_ns"), pooled),
                    it.judged,
                )
                for arm in judge.others
            ],
            "pools-gain": lambda it: [
                found(DEFAULT, "by malloc to pooled", figures.ratio(plain, pooled), it.judged)
            ],
            "shared-pool": lambda it: [
                found(DEFAULT, "shared to own", figures.ratio(shared, own), it.judged)
            ],
            "arena-calls": lambda it: [found(REGION, "allocations a request", calls, it.judged)],
            "arena-free": lambda it: [
                found(REGION, "N=1000, region to no allocation", flat, it.judged),
            ],
            "arena-gains": lambda it: [
                found(DEFAULT, "by malloc to region", figures.ratio(plain, region), it.judged)
            ],
            "three-steps": lambda it: [
                found(DEFAULT, name, ratio, it.judged) for name, ratio in steps.items()
            ],
        },
    )
