"""Claims about jemalloc and tcmalloc: classes, processors, options. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import At, estimate
from reap.study.allocator_wall.asks import NAMES, crowds, point
from reap.study.allocator_wall.judge.rules import Judge, claim, found, within
from reap.study.judging import MARGIN, at_least, at_most
from reap.study.records import Conclusion

ABOUT = "jemalloc, tcmalloc"


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    figures = judge.figures
    _, usual, more, _ = crowds(judge.cores)

    def own(field: str) -> Estimate | None:
        return figures.value("structure", "jemalloc", "of itself", field)

    return [
        claim(
            ABOUT,
            "jemalloc has 232 size classes.",
            "~232",
            "classes that it names, small and large: 230 to 234 is for it",
            [found("jemalloc", "classes", _classes(judge), within(230, 234))],
        ),
        claim(
            ABOUT,
            "tcmalloc has 88 size classes.",
            "~88",
            "different sizes that requests up to 256 KB are rounded to: 83 to 93 is for it",
            [found("tcmalloc", "classes", figures.value("structure", "tcmalloc", "classes", "classes"),
                   within(83, 93))],
        ),
        claim(
            ABOUT,
            "jemalloc 5 has an arena for each processor.",
            "assigns arenas based on CPU rather than thread",
            "opt.percpu_arena as it is by default: above 0 is for it",
            [found("jemalloc", "opt.percpu_arena", own("by_processor"), at_least(0.5))],
        ),
        claim(
            ABOUT,
            "tcmalloc's cache for each processor is set by TCMALLOC_HEAP_SIZE_HINT.",
            "controlled by TCMALLOC_HEAP_SIZE_HINT",
            "how often the name stands in tcmalloc's library (gperftools), in which others that begin so "
            "do: above 0 is for it",
            [found("tcmalloc", "times",
                   figures.value("structure", "tcmalloc", "names in its library", NAMES[0]), at_least(0.5))],
        ),
        claim(
            ABOUT,
            "On the fast path there is no lock.",
            "the lock contention disappears from the fast path",
            "times that a thread went to sleep in a thousand requests of 100 allocations and nothing else: "
            "at most "
            "10 is for it",
            [
                found(arm, f"sleeps, {point(100, count)}",
                      figures.value("threads", arm, point(100, count), "sleeps_per_1000"), at_most(10))
                for arm in judge.others for count in (usual, more)
            ],
        ),
        claim(
            ABOUT,
            "tcmalloc is slower than glibc with very large blocks.",
            "historically shown higher latency for very large allocations",
            "malloc and free of 1 to 16 MB, to glibc: above 1.05 is for it",
            [found("tcmalloc", "1 to 16 MB", figures.ratio(
                At("structure", "tcmalloc", "1 to 16 MB", "pair_ns"),
                At("structure", DEFAULT, "1 to 16 MB", "pair_ns")), at_least(MARGIN))],
        ),
    ]  # fmt: skip


def _classes(judge: Judge) -> Estimate | None:
    small, large = (
        judge.figures.rounds("structure", "jemalloc", "of itself", field)
        for field in ("small_classes", "large_classes")
    )
    return estimate([small[number] + large[number] for number in small.keys() & large.keys()])
