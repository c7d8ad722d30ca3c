"""Claims about the tail of latency, and how it is to be measured. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.asks import LOADS, loaded
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged
from reap_studies.study.records import Conclusion


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    figures = judge.figures
    last, middle = loaded(LOADS[-1]), loaded(LOADS[1])

    def over(arm: str, setting: str, field: str) -> tuple[At, At]:
        return At("latency", DEFAULT, setting, field), At("latency", arm, setting, field)

    return judged(
        judge,
        {
            "tail-over-mean": lambda it: [
                found(
                    arm,
                    "P99's gain to the mean's",
                    figures.grown(over(arm, middle, "p99_ns"), over(arm, middle, "mean_ns")),
                    it.judged,
                )
                for arm in judge.others
            ],
            "half-p999": lambda it: [
                found(arm, loaded(load), figures.ratio(*over(arm, loaded(load), "p999_ns")), it.judged)
                for load in LOADS
                for arm in judge.others
            ],
            "coordinated-omission": lambda it: [
                found(
                    arm,
                    "open to closed",
                    figures.ratio(At("latency", arm, last, "p99_ns"), At("latency", arm, "closed", "p99_ns")),
                    it.judged,
                )
                for arm in (DEFAULT, *judge.others)
            ],
        },
        middle=middle,
        last=last,
    )
