"""Claims about the tail of latency, and how it is to be measured. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.study.allocator_wall.analyse import At
from reap.study.allocator_wall.asks import LOADS, loaded
from reap.study.allocator_wall.judge.rules import Judge, claim, found
from reap.study.judging import MARGIN, at_least, at_most
from reap.study.records import Conclusion

ABOUT = "the tail"
FAR = 1.5
"""So many times is a difference that somebody notices."""


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    figures = judge.figures
    last, middle = loaded(LOADS[-1]), loaded(LOADS[1])

    def over(arm: str, setting: str, field: str) -> tuple[At, At]:
        return At("latency", DEFAULT, setting, field), At("latency", arm, setting, field)

    return [
        claim(
            ABOUT,
            "The win is in the tail: P99 gains more than the mean.",
            "p99 differences are 2x; mean differences are 30 %",
            f"P99 over glibc to that over it ({middle}), to the same of means: above 1.05 is for it",
            [
                found(arm, "P99's gain to the mean's",
                      figures.grown(over(arm, middle, "p99_ns"), over(arm, middle, "mean_ns")),
                      at_least(MARGIN))
                for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "Another allocator halves P99.9.",
            "p99.9 falls from 210 µs to 110 µs",
            "P99.9 over glibc to that over it, in an open loop at each load: above 1.5 is for it",
            [
                found(arm, loaded(load), figures.ratio(*over(arm, loaded(load), "p999_ns")), at_least(FAR))
                for load in LOADS for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "The text's loop is free of coordinated omission.",
            "the same coordinated-omission-aware discipline",
            f"P99 in an open loop ({last}), from the intended start, to that in a closed one: at most 1.5 "
            "is for it",
            [
                found(arm, "open to closed", figures.ratio(
                    At("latency", arm, last, "p99_ns"), At("latency", arm, "closed", "p99_ns")), at_most(FAR))
                for arm in (DEFAULT, *judge.others)
            ],
        ),
    ]  # fmt: skip
