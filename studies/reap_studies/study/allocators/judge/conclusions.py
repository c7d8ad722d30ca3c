"""The conclusions of the evaluation of six allocators, each with its rule. Pure functions."""

from reap_studies.study import claims
from reap_studies.study.allocators.analyse import GLIBC, LEA, everyone, findings, others, pairs, spread
from reap_studies.study.allocators.judge import locality as locality_claims
from reap_studies.study.allocators.judge import memory
from reap_studies.study.allocators.judge import scaling as scaling_claims
from reap_studies.study.allocators.setups import APPLICATIONS, EVALUATIONS, PARALLEL, locality, scaling
from reap_studies.study.judging.bounds import side
from reap_studies.study.records import Conclusion, Evaluated

BEST = "lockless"


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
    return claims.of("allocators").judge(
        {
            "perl-time": lambda it: findings(spread(found, PARALLEL, everyone(found), "time"), it.judged),
            "perl-memory": lambda it: findings(
                spread(found, PARALLEL, everyone(found), "resident"), it.judged
            ),
            "programs-alike": lambda it: findings(
                (one for name in APPLICATIONS for one in pairs(found.named(name), rest, [GLIBC])),
                it.judged,
            ),
            "dlmalloc-slow-on-perl": lambda it: findings(pairs(parallel, [LEA], [GLIBC]), it.judged),
            "dlmalloc-least-memory": lambda _: findings(
                pairs(parallel, [GLIBC, *rest], [LEA], "resident"),
                lambda ratio: side(ratio.low > 1, ratio.high < 1),
            ),
        },
        found.allocators,
        claims.Setting(has={"cores": found.threads}),
    )


def _last(found: Evaluated) -> list[Conclusion]:
    """What its section 4 concludes."""
    replacing = [name for name in memory.REPLACING if name in others(found)]
    setups = [*(locality(times) for times in EVALUATIONS), scaling(found.threads)]
    rivals = [GLIBC, LEA, *others(found)]
    return claims.of("allocators").judge(
        {
            "lockless-fastest": lambda it: findings(
                (one for name in [*setups, scaling(1)] for one in pairs(found.named(name), [BEST], rivals)),
                it.judged,
            ),
            "lockless-memory": lambda it: memory.drawback(found, it.judged),
            "replace-glibc": lambda it: [
                *findings(
                    (one for name in setups for one in pairs(found.named(name), replacing, [GLIBC])),
                    it.judged,
                ),
                *memory.to_glibc(found, replacing, it.judged),
            ],
        },
        found.allocators,
        claims.Setting(has={"cores": found.threads}),
    )
