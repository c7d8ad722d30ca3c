"""Claims about memory: what is not returned to the OS, and what is held beside what lives. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.asks import WAIT
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged
from reap_studies.study.records import Conclusion

LATER = f"{WAIT} s later"


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    figures = judge.figures

    def kept(arm: str, setting: str, field: str = "kept_share") -> Estimate | None:
        return figures.value("memory", arm, setting, field)

    trimmed = ["pinned, then malloc_trim(0)", "1 in 100 survives, then malloc_trim(0)",
               "1 in 4 survives, then malloc_trim(0)"]  # fmt: skip
    sleepers = ["jemalloc, idle", "jemalloc, some work", "jemalloc, idle, background_thread"]
    small = "glibc, trim at 64 KB"
    lazy = "jemalloc, some work, muzzy_decay_ms=60000"
    return judged(
        judge,
        {
            "midnight-climb": lambda it: [found(DEFAULT, "kept, pinned", kept(DEFAULT, "pinned"), it.judged)],
            "rss-is-not-live": lambda it: [
                found(DEFAULT, "kept with nothing alive", kept(DEFAULT, "pinned"), it.judged)
            ],
            "trim-threshold": lambda it: [found(small, "kept, pinned", kept(small, "pinned"), it.judged)],
            "only-from-the-top": lambda it: [
                found(DEFAULT, each, kept(DEFAULT, each, "trimmed_share"), it.judged) for each in trimmed
            ],
            "jemalloc-shrinks": lambda it: [
                found(arm, LATER, kept(arm, LATER, "waited_share"), it.judged) for arm in sleepers
            ],
            "jemalloc-lazy-free": lambda it: [
                found(
                    "jemalloc, some work",
                    "LazyFree",
                    kept("jemalloc, some work", LATER, "lazy_share"),
                    it.judged,
                )
            ],
            "muzzy-decay": lambda it: [found(lazy, "LazyFree", kept(lazy, LATER, "lazy_share"), it.judged)],
            "jemalloc-steady": lambda it: [
                found(
                    "jemalloc",
                    "steady, to glibc",
                    figures.ratio(
                        At("memory", "jemalloc", "steady", "resident"),
                        At("memory", DEFAULT, "steady", "resident"),
                    ),
                    it.judged,
                )
            ],
            "numa": lambda _: [],
        },
        nodes=judge.wall.nodes,
    )
