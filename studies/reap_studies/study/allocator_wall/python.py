"""What the study of the allocator wall asks CPython: each part as a list of runs. Starts none."""

from reap.api import DEFAULT_ALLOCATOR as DEFAULT
from reap.api import Launch
from reap_studies.study.allocator_wall.asks import Ask, Bench, Reading
from reap_studies.study.allocator_wall.records import Place

SMALL, LARGE = 6, 1000
"""Edges of a document: that of the text, and one of 27 KB."""
MALLOCS = ("pymalloc", "malloc")
"""Who serves CPython's small objects."""
TAILS = ("per_request", "pooled")
REQUESTS = 200
"""By how many requests two recorded runs differ."""


def cost(bench: Bench) -> list[Ask]:
    """CPU time of a request each way, and its tail in a closed loop."""
    asks = []
    requests = 10_000 if bench.mode == "quick" else 100_000
    for malloc in MALLOCS:
        for parser in bench.parsers:
            for edges in (SMALL, LARGE):
                blocks = "blocks=5 block_ms=3" if bench.mode == "quick" else "blocks=9 block_ms=20"
                words = f"cost edges={edges} parser={parser} {blocks}"
                asks += _each(bench, setting(malloc, parser, edges), malloc, words)
        parser = bench.parsers[-1]
        for way in TAILS:
            words = f"tail edges={SMALL} parser={parser} way={way} requests={requests}"
            asks += _each(bench, f"{way}, {setting(malloc, parser, SMALL)}", malloc, words, "tail")
    return asks


def setting(malloc: str, parser: str, edges: int) -> str:
    """Whose small objects, which parser, which document."""
    return f"{malloc}, {parser}, {'small' if edges == SMALL else 'large'} document"


def _each(bench: Bench, named: str, malloc: str, words: str, reading: Reading = "said") -> list[Ask]:
    return [
        _ask(bench, "python", each.name, named, malloc, words, library=each.library, reading=reading)
        for each in bench.allocators
    ]


def _ask(
    bench: Bench, part: str, arm: str, named: str, malloc: str, words: str, *,
    library: str = "", reading: Reading = "said", rounds: int = 0,
) -> Ask:  # fmt: skip
    launch = Launch(
        argv=[*bench.script.argv, *words.split()],
        program=bench.script.program,
        directory=bench.script.directory,
        allocator=library,
        environment={**bench.script.environment, "PYTHONMALLOC": malloc, "PYTHONHASHSEED": "0"},
        remove=["LD_PRELOAD", "GLIBC_TUNABLES", "MALLOC_CONF"],
        timeout=300,
    )
    return Ask(Place(part=part, arm=arm, setting=named), launch, reading, rounds, assigns=True)


def counts(bench: Bench) -> list[Ask]:
    """How often a request allocates: two recorded runs, which differ by REQUESTS. And what recipes say."""
    asks = [
        bench.ask("counts", arm, "100 objects", f"latency objects 100 threads 1 memory {memory}",
                  reading="counted", rounds=1)
        for arm, memory in (("malloc", "malloc"), ("region", "region"), ("pool", "pool"))
    ]  # fmt: skip
    for malloc in MALLOCS:
        for parser in bench.parsers:
            named = setting(malloc, parser, SMALL)
            for arm, words in (
                ("one field read", "count"),
                ("all fields read", "count read=all"),
                ("one field without a parser", "count way=less"),
            ):
                asked = f"{words} edges={SMALL} parser={parser}"
                asks.append(_ask(bench, "counts", arm, named, malloc, asked, reading="counted", rounds=1))
    facts = f"facts edges={SMALL} parser={bench.parsers[0]}"
    asks.append(_ask(bench, "counts", DEFAULT, "of CPython", "pymalloc", facts, rounds=5))
    return asks
