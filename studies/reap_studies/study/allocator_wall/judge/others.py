"""Claims about jemalloc and tcmalloc: classes, processors, options. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At, estimate
from reap_studies.study.allocator_wall.asks import NAMES, crowds, point
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged
from reap_studies.study.records import Conclusion


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    figures = judge.figures
    _, usual, more, _ = crowds(judge.cores)

    def own(field: str) -> Estimate | None:
        return figures.value("structure", "jemalloc", "of itself", field)

    return judged(
        judge,
        {
            "jemalloc-size-classes": lambda it: [found("jemalloc", "classes", _classes(judge), it.judged)],
            "tcmalloc-size-classes": lambda it: [
                found(
                    "tcmalloc",
                    "classes",
                    figures.value("structure", "tcmalloc", "classes", "classes"),
                    it.judged,
                )
            ],
            "jemalloc-percpu-arena": lambda it: [
                found("jemalloc", "opt.percpu_arena", own("by_processor"), it.judged)
            ],
            "tcmalloc-size-hint": lambda it: [
                found(
                    "tcmalloc",
                    "times",
                    figures.value("structure", "tcmalloc", "names in its library", NAMES[0]),
                    it.judged,
                )
            ],
            "fast-path-without-lock": lambda it: [
                found(
                    arm,
                    f"sleeps, {point(100, count)}",
                    figures.value("threads", arm, point(100, count), "sleeps_per_1000"),
                    it.judged,
                )
                for arm in judge.others
                for count in (usual, more)
            ],
            "tcmalloc-large-blocks": lambda it: [
                found(
                    "tcmalloc",
                    "1 to 16 MB",
                    figures.ratio(
                        At("structure", "tcmalloc", "1 to 16 MB", "pair_ns"),
                        At("structure", DEFAULT, "1 to 16 MB", "pair_ns"),
                    ),
                    it.judged,
                )
            ],
        },
    )


def _classes(judge: Judge) -> Estimate | None:
    small, large = (
        judge.figures.rounds("structure", "jemalloc", "of itself", field)
        for field in ("small_classes", "large_classes")
    )
    return estimate([small[number] + large[number] for number in small.keys() & large.keys()])
