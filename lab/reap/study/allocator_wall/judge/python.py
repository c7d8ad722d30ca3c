"""Claims about the experiment in Python, and about Go: throughput, pools, parsers, counts. Pure functions."""

from reap.allocators.records import DEFAULT
from reap.base.records import Estimate
from reap.study.allocator_wall.analyse import At
from reap.study.allocator_wall.go import SETTING as GO
from reap.study.allocator_wall.judge.rules import Judge, claim, found, times, within
from reap.study.allocator_wall.python import LARGE, MALLOCS, SMALL, TAILS, setting
from reap.study.judging import MARGIN, at_least, at_most
from reap.study.records import Conclusion

ABOUT = "Python"


def claims(judge: Judge) -> list[Conclusion]:
    """In the text's order."""
    return [*_experiment(judge), *_counts(judge), *_collector(judge), _go(judge)]


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
    return [
        claim(
            ABOUT,
            "The document has 2 KB.",
            "build a 2 KB JSON payload",
            "bytes of the text's document: 1500 to 2500 is for it",
            [found("document", "bytes", size, within(1500, 2500))],
        ),
        claim(
            ABOUT,
            "Another allocator makes the experiment 1.3 to 1.5 times faster.",
            "+41 % throughput",
            f"CPU time of a request ({usual}) over glibc to that over it: above 1.3 is for it",
            [
                found(arm, "per_request", gained(arm, usual, "per_request"), at_least(1.3))
                for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "It does so where malloc serves CPython's small objects, too, or the document is large. (Not "
            "in the text.)",
            "not said",
            "the same ratio with PYTHONMALLOC=malloc, and of a document of 27 KB: above 1.3 is for it",
            [
                found(arm, named, gained(arm, named, "per_request"), at_least(1.3))
                for named in every[1:] for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "It makes P99.9 1.5 to 2 times lower.",
            "210 µs to 110 µs",
            "P99.9 of a closed loop over glibc to that over it: above 1.5 is for it",
            [
                found(arm, "per_request", figures.ratio(tail(DEFAULT, TAILS[0], "p999_ns"),
                      tail(arm, TAILS[0], "p999_ns")), at_least(1.5))
                for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "Pooling makes it 1.8 times faster within glibc.",
            "91,230 to 164,800 requests a second",
            "CPU time of a request to that of the text's pooled one, which parses as well: above 1.5 "
            "is for it",
            [
                found(DEFAULT, named, figures.ratio(cost(DEFAULT, named, "per_request"),
                      cost(DEFAULT, named, "pooled")), at_least(1.5))
                for named in every
            ],
        ),
        claim(
            ABOUT,
            "Once pooled, the allocators converge.",
            "164,800 and 170,900 requests a second",
            "CPU time of the pooled request over glibc to that over it: 1/1.05 to 1.05 is for it",
            [
                found(arm, f"pooled, {named}", gained(arm, named, "pooled"), within(1 / MARGIN, MARGIN))
                for named in (every[0], every[2]) for arm in judge.others
            ],
        ),
        claim(
            ABOUT,
            "Where there is no wall, jemalloc costs 5 to 10 % more memory.",
            "a no-op at best and a 5-10% RSS regression at worst",
            f"most resident memory of the experiment ({usual}) to the same over glibc: 1.02 to 1.15 is for "
            "it",
            [
                found("jemalloc", "most resident, to glibc", figures.ratio(
                    *(At("python", arm, usual, "peak_resident") for arm in ("jemalloc", DEFAULT))),
                    within(1.02, 1.15))
            ],
        ),
        claim(
            ABOUT,
            "To materialise less takes the cost away.",
            "the cleanest fix when applicable",
            "CPU time of a request that parses all to one that reads one field without a parser: "
            "above 1.5 is "
            "for it",
            [
                found(DEFAULT, named, figures.ratio(cost(DEFAULT, named, "per_request"),
                      cost(DEFAULT, named, "less")), at_least(1.5))
                for named in every
            ],
        ),
    ]  # fmt: skip


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
    return [
        claim(
            ABOUT,
            "A document of some KB is dozens of allocations of malloc.",
            "dozens of small allocations (one per dict, list, string)",
            "allocations of malloc in a request, by two recorded runs: above 12 is for it, with CPython's "
            "own "
            "allocator before malloc, as it is",
            [
                found(parser, "pymalloc", figures.value(*allocations("one field read", "pymalloc", parser)),
                      at_least(12))
                for parser in parsers
            ],
        ),
        claim(
            ABOUT,
            "CPython asks malloc for what is larger than 512 bytes.",
            "CPython uses the system malloc for objects larger than 512 bytes",
            "the largest object of which a thousand are none of malloc's: 505 to 512 bytes is for it",
            [found("CPython", "bytes", figures.value("counts", DEFAULT, "of CPython", "largest_small"),
                   within(505, 512))],
        ),
        claim(
            ABOUT,
            "orjson parses lazily: what is not read is not made.",
            "a streaming JSON parser like simdjson or orjson parses lazily",
            "allocations where one field is read to those where all are: at most 0.67 is for it",
            [
                found(parser, "one field to all, PYTHONMALLOC=malloc", figures.ratio(
                    allocations("one field read", "malloc", parser),
                    allocations("all fields read", "malloc", parser)), at_most(0.67))
                for parser in parsers if parser == "orjson"
            ],
        ),
        claim(
            ABOUT,
            "The recipe with tracemalloc counts a request's allocations.",
            "print(f'allocations this request: {total_blocks}')",
            "what the recipe prints to allocations by two recorded runs (PYTHONMALLOC=malloc): 0.8 to 1.25 "
            "is for "
            "it; it counts blocks that still live",
            [found(first, "recipe to truth", share, within(0.8, 1.25))],
        ),
    ]  # fmt: skip


def _go(judge: Judge) -> Conclusion:
    def at(arm: str, field: str) -> At:
        return At("go", arm, GO, field)

    figures = judge.figures
    entered = [found(arm, "allocator in the process", figures.value(*at(arm, "preloaded")), at_most(0))
               for arm in judge.others]  # fmt: skip
    return claim(
        "Go",
        "LD_PRELOAD does not change the picture for Go.",
        "for Go, the runtime has its own allocator",
        "whether a preloaded allocator is in the process (0 is for it); and CPU time of a program in "
        "Go with "
        "it to that without: 1/1.05 to 1.05 is for it",
        [
            *entered,
            *(
                found(arm, "CPU time", figures.ratio(at(arm, "cpu_ns"), at(DEFAULT, "cpu_ns")),
                      within(1 / MARGIN, MARGIN))
                for arm in judge.others
            ),
        ],
    )  # fmt: skip


def _collector(judge: Judge) -> list[Conclusion]:
    share = judge.figures.value("counts", DEFAULT, "of CPython", "gc_on_cpu_share")
    return [
        claim(
            ABOUT,
            "Collections are seen off the processor, allocation on it.",
            "GC pauses show up in off-CPU flamegraphs",
            "of the time of CPython's collections, the share on a processor: at most 0.5 is for it",
            [found("CPython's gc", "on the processor", share, at_most(0.5))],
        ),
    ]
