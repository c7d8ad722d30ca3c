"""Claims about the wall's shape: what allocations cost by number and by threads. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import At
from reap.study.allocator_wall.asks import POOL, REGION, SHARED, loaded_point, point
from reap.study.allocator_wall.judge.rules import Judge, claim, found, times, within
from reap.study.judging import MARGIN, Judged, at_least, at_most
from reap.study.records import Conclusion, Finding

ABOUT = "the knee"
FAR = 1.5
"""So much cheaper is worth a switch."""


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
    return [
        claim(
            ABOUT,
            "An allocation costs 200 ns on average.",
            "if the allocator costs 200 ns on average",
            "CPU time of malloc and free over a floor without: 100 to 400 ns is for it",
            [
                found(DEFAULT, f"ns, {point(count, judge.cores)}",
                      figures.value(*_at(DEFAULT, count, judge.cores)), within(100, 400))
                for count in (30, 100, 1000)
            ],
        ),
        claim(
            ABOUT,
            "Twenty allocations cost as much as receiving 4 KB.",
            "twenty allocations per segment already match the I/O cost",
            "twenty times the cost of one, of 30 a request, to CPU time of a recv of 4 KB from a local "
            "socket: 0.5 to 2 is for it",
            [found(DEFAULT, "20 allocations to one recv", twenty and times(twenty, 20), within(0.5, 2))],
        ),
    ]  # fmt: skip


def _shape(judge: Judge) -> list[Conclusion]:
    figures, cores = judge.figures, judge.cores

    def halved(more: int, fewer: int) -> Estimate | None:
        grown = figures.ratio(*(At("knee", DEFAULT, loaded_point(n), "own_ns") for n in (more, fewer)))
        return grown and times(grown, fewer / more)

    growth = figures.grown(
        (_at(DEFAULT, 300, max(cores, 2)), _at(DEFAULT, 10, max(cores, 2))),
        (_at(DEFAULT, 300, 1), _at(DEFAULT, 10, 1)),
    )
    return [
        claim(
            ABOUT,
            "Twice the allocations, half the throughput.",
            "the shape is roughly hyperbolic",
            "CPU time of a request (2 µs of other work) with more allocations to that with fewer, by "
            "how many times "
            "more they are: 0.8 to 1.25 is for it",
            [
                found(DEFAULT, f"N={more} to N={fewer}", halved(more, fewer), within(0.8, 1.25))
                for fewer, more in ((1, 10), (10, 100), (100, 300), (300, 1000))
            ],
        ),
        claim(
            ABOUT,
            "The cost of an allocation has a knee: beyond it each costs more.",
            "until you hit the lock-contention regime, where it falls off a cliff",
            "cost of one of 300 in a request to that of one of 10: above 1.5 is for it",
            [
                found(DEFAULT, f"N=300 to N=10, threads: {threads}",
                      figures.ratio(_at(DEFAULT, 300, threads), _at(DEFAULT, 10, threads)), at_least(FAR))
                for threads in sorted({1, max(cores, 2)})
            ],
        ),
        claim(
            ABOUT,
            "What makes the knee is contention for locks.",
            "arena mutexes start serialising threads against each other",
            "by how many times the same cost grows with threads on all processors, to by how many with "
            "one: above "
            "1.5 is for it",
            [found(DEFAULT, "growth with threads to growth with one", growth, at_least(FAR))],
        ),
    ]  # fmt: skip


def _regimes(judge: Judge) -> list[Conclusion]:
    cores = judge.cores

    def each(counts: tuple[int, ...], judged: Judged) -> list[list[Finding]]:
        return [
            found(arm, f"N={count}, glibc to it", _to_glibc(judge, arm, count, cores), judged)
            for count in counts
            for arm in judge.others
        ]

    rates = [
        found(arm, f"N={count}, to glibc",
              judge.figures.ratio(
                  *(At("knee", name, loaded_point(count), "own_ns") for name in (arm, DEFAULT))),
              within(1 / MARGIN, MARGIN))
        for count in (1, 3) for arm in judge.others
    ]  # fmt: skip
    return [
        claim(
            ABOUT,
            "Under 10 allocations the allocator is not the wall.",
            "if it is under 10, you are far left of the knee",
            "CPU time of a request with 2 µs of other work, to the same over glibc: 1/1.05 to 1.05 is for it",
            rates,
        ),
        claim(
            ABOUT,
            "Left of the knee another allocator saves 30 to 50 % of an allocation's cost.",
            "you save 30-50% on the per-allocation cost",
            "cost over glibc to that over it, at 3 and 10 allocations: 1.43 to 2 is for it",
            each((3, 10), within(1.43, 2)),
        ),
        claim(
            ABOUT,
            "From 30 allocations on, switch the allocator first.",
            "if it is over 30, switch allocator first",
            "cost over glibc to that over it, at 30 and 100: above 1.5 is for it",
            each((30, 100), at_least(FAR)),
        ),
        claim(
            ABOUT,
            "Right of the knee another allocator is 5 to 10 times better.",
            "switching allocator can be 5-10x",
            "cost over glibc to that over it, at 100 and 300: above 5 is for it",
            each((100, 300), at_least(5)),
        ),
    ]


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
    return [
        claim(
            ABOUT,
            "Once objects are pooled, allocators agree (C++).",
            "pooled jemalloc and pooled glibc converge",
            "CPU time of a request whose 100 objects are pooled by thread, to the same over glibc: "
            "1/1.05 to "
            "1.05 is for it",
            [
                found(arm, "pooled, to glibc",
                      figures.ratio(At("knee", arm, settings[POOL], "own_ns"), pooled),
                      within(1 / MARGIN, MARGIN))
                for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "Pools of objects take the allocator's cost away (C++).",
            "the throughput gain (1.8x even on glibc)",
            "CPU time of a request of 100 objects to the same pooled by thread: above 1.05 is for it",
            [found(DEFAULT, "by malloc to pooled", figures.ratio(plain, pooled), at_least(MARGIN))],
        ),
        claim(
            ABOUT,
            "A pool that threads share has contention of its own; one for each thread has none.",
            "pools introduce their own contention if shared across threads",
            "requests a second with a pool of all threads, behind a lock, to those with one each: below "
            "1/1.05 is "
            "for it",
            [found(DEFAULT, "shared to own", figures.ratio(shared, own), at_most(1 / MARGIN))],
        ),
        claim(
            ABOUT,
            "An arena for each request calls the allocator twice at most.",
            "the allocator is invoked twice per request",
            "allocations of a request whose 100 objects are in a region, by two recorded runs: at most 2 "
            "is for it",
            [found(REGION, "allocations a request", calls, at_most(2))],
        ),
        claim(
            ABOUT,
            "An arena's free costs the same however many objects there are.",
            "the free becomes O(1)",
"CPU time of a request of 1000 objects in a region to the same without allocation: at most 1.5 is "
            "for it, as a free each would cost more",
            [
                found(REGION, "N=1000, region to no allocation", flat, at_most(FAR)),
            ],
        ),
        claim(
            ABOUT,
            "An arena for each request makes a request cheaper.",
            "arena allocation wins for short-lived, per-request objects",
            "CPU time of a request of 100 objects by malloc to the same in a region: above 1.05 is "
            "for it",
            [found(DEFAULT, "by malloc to region", figures.ratio(plain, region), at_least(MARGIN))],
        ),
        claim(
            ABOUT,
            "To materialise less, an arena, another allocator: each halves what is left of the cost.",
            "each step removed roughly half the remaining allocator cost",
            "what allocation costs a request after each step to before: 30 objects and not 100, these in a "
            "region, "
            "its chunks from jemalloc: 0.35 to 0.65 is for it",
            [found(DEFAULT, name, ratio, within(0.35, 0.65)) for name, ratio in steps.items()],
        ),
    ]  # fmt: skip
