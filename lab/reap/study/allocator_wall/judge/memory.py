"""Claims about memory: what is not returned to the OS, and what is held beside what lives. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import At
from reap.study.allocator_wall.asks import WAIT
from reap.study.allocator_wall.judge.rules import Judge, claim, found, within
from reap.study.judging import Extent, at_least, at_most
from reap.study.records import Conclusion

ABOUT = "memory"
HALF = 0.5
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
    return [
        claim(
            ABOUT,
            "The midnight climb: one small block at the top keeps all that was freed below it.",
            "glibc holding freed memory above an allocation it cannot reach to release",
            "resident memory when 100 MB were freed below one block of 2 KB, to what it was before: above "
            "0.5 is "
            "for it",
            [found(DEFAULT, "kept, pinned", kept(DEFAULT, "pinned"), at_least(HALF))],
        ),
        claim(
            ABOUT,
            "RSS is not what lives.",
            "a 4 GB RSS with only 800 MB of live objects",
            "the same share, of which 2 KB live: above 0.5 is for it",
            [found(DEFAULT, "kept with nothing alive", kept(DEFAULT, "pinned"), at_least(HALF))],
        ),
        claim(
            ABOUT,
            "M_TRIM_THRESHOLD = 64 KB mends it.",
            "the fix is mallopt(M_TRIM_THRESHOLD, 64 * 1024)",
            "the same share with that: at most 0.5 is for it",
            [found(small, "kept, pinned", kept(small, "pinned"), at_most(HALF))],
        ),
        claim(
            ABOUT,
            "glibc gives memory back only from the top.",
            "the allocator can't give back what it can't reach",
            "the same share after malloc_trim(0), which reaches below: above 0.5 is for it",
            [found(DEFAULT, each, kept(DEFAULT, each, "trimmed_share"), at_least(HALF)) for each in trimmed],
        ),
        claim(
            ABOUT,
            "jemalloc's memory shrinks within seconds of the load.",
            "RSS shrinks back toward the working set within seconds",
            f"resident memory {WAIT} s after all was freed, to what it was before: at most 0.5 is for it",
            [found(arm, LATER, kept(arm, LATER, "waited_share"), at_most(HALF)) for arm in sleepers],
            extent=Extent.NEARLY_ALL,
        ),
        claim(
            ABOUT,
            "With jemalloc RSS is inflated by pages that the kernel may take (MADV_FREE).",
            "reported pages it was holding for MADV_FREE reclamation as resident",
            f"share of memory that is LazyFree {WAIT} s after all was freed: above 0.05 is for it, as it "
            "is by "
            "default",
            [found("jemalloc, some work", "LazyFree", kept("jemalloc, some work", LATER, "lazy_share"),
                   at_least(0.05))],
            "outdated",
        ),
        claim(
            ABOUT,
            "opt.muzzy_decay_ms controls that.",
            "the fix in jemalloc 5.2+ was opt.muzzy_decay_ms",
            "the same share with muzzy_decay_ms at 60 s: above 0.05 is for it",
            [found(lazy, "LazyFree", kept(lazy, LATER, "lazy_share"), at_least(0.05))],
        ),
        claim(
            ABOUT,
            "jemalloc takes 5 to 10 % more memory at steady state.",
            "typically 5-10% more RSS at steady state",
            "resident memory of threads that replace small objects at random, to glibc's: 1.02 to 1.15 is "
            "for it",
            [found("jemalloc", "steady, to glibc", figures.ratio(
                At("memory", "jemalloc", "steady", "resident"), At("memory", DEFAULT, "steady", "resident")),
                within(1.02, 1.15))],
        ),
        claim(
            "NUMA",
            "Memory of another node makes allocation 1.5 to 2 times slower.",
            "1.5-2x on the affected workload",
            f"needs two nodes of memory; this machine has {judge.wall.nodes}",
            [],
        ),
    ]  # fmt: skip
