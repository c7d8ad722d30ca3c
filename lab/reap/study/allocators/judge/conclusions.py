"""The conclusions of the evaluation of six allocators, each with its rule. Pure functions."""

from reap.study.allocators.analyse import GLIBC, LEA, everyone, findings, others, pairs, spread, within
from reap.study.allocators.judge import locality as locality_claims
from reap.study.allocators.judge import memory
from reap.study.allocators.judge import scaling as scaling_claims
from reap.study.allocators.setups import APPLICATIONS, EVALUATIONS, PARALLEL, locality, scaling
from reap.study.judging import MARGIN, Extent, at_least, at_most, conclusion, side
from reap.study.records import Conclusion, Evaluated

BEST = "lockless"
SIMILAR = 1.15
"""The paper's allocators, dlmalloc left out, were within 12 % of glibc on its applications."""


def judge(found: Evaluated) -> list[Conclusion]:
    """Every conclusion, in the paper's order."""
    return [
        *_applications(found),
        *locality_claims.judge(found),
        *scaling_claims.judge(found),
        *memory.judge(found),
        *_last(found),
    ]


def _applications(found: Evaluated) -> list[Conclusion]:
    parallel = found.named(PARALLEL)
    rest = others(found)
    return [
        conclusion(
            "3.2",
            "Which allocator it is makes a difference of more than 40 % to the time of perl on all cores.",
            "19.6 to 28.3 s",
            "running time over the slowest to that over the fastest, hardened ones left out: above 1.40 is "
            "for it",
            findings(spread(found, PARALLEL, everyone(found), "time"), at_least(1.40)),
            "does not hold",
        ),
        conclusion(
            "3.2",
            "And of more than 30 % to its memory.",
            "387 to 520 MiB",
            "most resident memory over the greediest to that over the most sparing, hardened ones left out: "
            "above 1.30 is for it",
            findings(spread(found, PARALLEL, everyone(found), "resident"), at_least(1.30)),
            "does not hold",
        ),
        conclusion(
            "3.2",
            "But for dlmalloc the allocators are much the same to perl, gcc and sed.",
            "0.91 to 1.12 times glibc's time",
            "running time over each other to that over glibc: within 1.15 times either way is for it",
            findings(
                (one for name in APPLICATIONS for one in pairs(found.named(name), rest, [GLIBC])),
                within(SIMILAR),
            ),
            "does not hold",
            Extent.NEARLY_ALL,
        ),
        conclusion(
            "3.2",
            "dlmalloc is slow when perl has all cores.",
            "28.3 s, and 20.8 s over glibc",
            "running time over dlmalloc to that over glibc: above 1.05 is for it",
            findings(pairs(parallel, [LEA], [GLIBC]), at_least(MARGIN)),
            "outdated",
        ),
        conclusion(
            "3.2",
            "dlmalloc takes the least memory for it.",
            "387 MiB; the others 404 to 520",
            "most resident memory over each other to that over dlmalloc: above 1 is for it, below against it",
            findings(
                pairs(parallel, [GLIBC, *rest], [LEA], "resident"),
                lambda ratio: side(ratio.low > 1, ratio.high < 1),
            ),
            "outdated",
            Extent.NEARLY_ALL,
        ),
    ]


def _last(found: Evaluated) -> list[Conclusion]:
    """What its section 4 concludes."""
    replacing = [name for name in memory.REPLACING if name in others(found)]
    setups = [*(locality(times) for times in EVALUATIONS), scaling(found.threads)]
    rivals = [GLIBC, LEA, *others(found)]
    return [
        conclusion(
            "4",
            "Lockless is the fastest.",
            "in every column of Tables 2 and 3",
            "running time over Lockless to that over each other, in Tables 2 and 3: at most 1 is for it",
            findings(
                (one for name in [*setups, scaling(1)] for one in pairs(found.named(name), [BEST], rivals)),
                at_most(1.0),
            ),
            "outdated",
            Extent.NEARLY_ALL,
        ),
        memory.drawback(found),
        conclusion(
            "4",
            "jemalloc, tcmalloc and Lockless can take glibc's place: they are faster and take less memory.",
            "0.54 to 0.88 times its time in Table 2, 0.61 to 0.80 times its average memory",
            "running time to that over glibc, in Tables 2 and 3 on all cores, and average memory asked for: "
            "at most 1 is for it",
            [
                *findings(
                    (one for name in setups for one in pairs(found.named(name), replacing, [GLIBC])),
                    at_most(1.0),
                ),
                *memory.to_glibc(found, replacing),
            ],
            "does not hold",
            Extent.NEARLY_ALL,
        ),
    ]
