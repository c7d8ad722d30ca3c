"""Claims about the experiment in Python, and about Go: throughput, pools, parsers, counts. Pure functions."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Estimate
from reap_studies.study.allocator_wall.analyse import At
from reap_studies.study.allocator_wall.go import SETTING as GO
from reap_studies.study.allocator_wall.judge.rules import Judge, found, judged, times
from reap_studies.study.allocator_wall.python import LARGE, MALLOCS, SMALL, TAILS, setting
from reap_studies.study.judging.bounds import at_most
from reap_studies.study.records import Conclusion


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    return [*_experiment(judge), *_counts(judge), *_collector(judge), *_go(judge)]


def _parser(judge: Judge) -> str:
    """The text's own, where it is installed."""
    return "orjson" if "orjson" in judge.wall.parsers else "json"


def _experiment(judge: Judge) -> list[Conclusion]:
    figures, parser = judge.figures, _parser(judge)
    usual = setting("pymalloc", parser, SMALL)
    every = [setting(malloc, parser, edges) for malloc in MALLOCS for edges in (SMALL, LARGE)]

    def cost(arm: str, named: str, way: str) -> At:
        return At("python", arm, named, f"{way}_ns")

    def gained(arm: str, named: str, way: str) -> Estimate | None:
        return figures.ratio(cost(DEFAULT, named, way), cost(arm, named, way))

    def tail(arm: str, way: str, field: str) -> At:
        return At("python", arm, f"{way}, {usual}", field)

    size = figures.value("counts", DEFAULT, "of CPython", "document")
    return judged(
        judge,
        {
            "document-size": lambda it: [found("document", "bytes", size, it.judged)],
            "experiment-gains": lambda it: [
                found(arm, "per_request", gained(arm, usual, "per_request"), it.judged)
                for arm in judge.others
            ],
            "experiment-gains-by-malloc": lambda it: [
                found(arm, named, gained(arm, named, "per_request"), it.judged)
                for named in every[1:]
                for arm in judge.others
            ],
            "experiment-tail": lambda it: [
                found(
                    arm,
                    "per_request",
                    figures.ratio(tail(DEFAULT, TAILS[0], "p999_ns"), tail(arm, TAILS[0], "p999_ns")),
                    it.judged,
                )
                for arm in judge.others
            ],
            "pooling-gains": lambda it: [
                found(
                    DEFAULT,
                    named,
                    figures.ratio(cost(DEFAULT, named, "per_request"), cost(DEFAULT, named, "pooled")),
                    it.judged,
                )
                for named in every
            ],
            "pooled-converge": lambda it: [
                found(arm, f"pooled, {named}", gained(arm, named, "pooled"), it.judged)
                for named in (every[0], every[2])
                for arm in judge.others
            ],
            "memory-without-a-wall": lambda it: [
                found(
                    "jemalloc",
                    "most resident, to glibc",
                    figures.ratio(
                        *(At("python", arm, usual, "peak_resident") for arm in ("jemalloc", DEFAULT))
                    ),
                    it.judged,
                )
            ],
            "materialise-less": lambda it: [
                found(
                    DEFAULT,
                    named,
                    figures.ratio(cost(DEFAULT, named, "per_request"), cost(DEFAULT, named, "less")),
                    it.judged,
                )
                for named in every
            ],
        },
        usual=usual,
    )


def _counts(judge: Judge) -> list[Conclusion]:
    figures = judge.figures
    parsers = list(judge.wall.parsers)

    def allocations(arm: str, malloc: str, parser: str) -> At:
        return At("counts", arm, setting(malloc, parser, SMALL), "allocations")

    first = parsers[0]
    recipe = At("counts", DEFAULT, "of CPython", "recipe")
    truth = figures.median(*allocations("one field read", "malloc", first))
    said = figures.value(*recipe)
    share = times(said, 1 / truth) if said and truth else None
    return judged(
        judge,
        {
            "dozens-of-allocations": lambda it: [
                found(
                    parser,
                    "pymalloc",
                    figures.value(*allocations("one field read", "pymalloc", parser)),
                    it.judged,
                )
                for parser in parsers
            ],
            "cpython-large-objects": lambda it: [
                found(
                    "CPython",
                    "bytes",
                    figures.value("counts", DEFAULT, "of CPython", "largest_small"),
                    it.judged,
                )
            ],
            "orjson-lazy": lambda it: [
                found(
                    parser,
                    "one field to all, PYTHONMALLOC=malloc",
                    figures.ratio(
                        allocations("one field read", "malloc", parser),
                        allocations("all fields read", "malloc", parser),
                    ),
                    it.judged,
                )
                for parser in parsers
                if parser == "orjson"
            ],
            "tracemalloc-recipe": lambda it: [found(first, "recipe to truth", share, it.judged)],
        },
    )


def _go(judge: Judge) -> list[Conclusion]:
    def at(arm: str, field: str) -> At:
        return At("go", arm, GO, field)

    figures = judge.figures
    entered = [found(arm, "allocator in the process", figures.value(*at(arm, "preloaded")), at_most(0))
               for arm in judge.others]  # fmt: skip
    return judged(
        judge,
        {
            "go-preload": lambda it: [
                *entered,
                *(
                    found(arm, "CPU time", figures.ratio(at(arm, "cpu_ns"), at(DEFAULT, "cpu_ns")), it.judged)
                    for arm in judge.others
                ),
            ]
        },
    )


def _collector(judge: Judge) -> list[Conclusion]:
    share = judge.figures.value("counts", DEFAULT, "of CPython", "gc_on_cpu_share")
    return judged(
        judge,
        {
            "collections-off-cpu": lambda it: [found("CPython's gc", "on the processor", share, it.judged)],
        },
    )
