"""Remedies suspected to help against a cause: those that the table names for it, where they do anything."""

from reap.allocators.remedies import table
from reap.allocators.remedies.table import KnownRemedy
from reap.evidence.analyse.suspicions.facts import WallFacts
from reap.evidence.analyse.suspicions.records import Cause, Metric, Remedy

HUGE_PAGES, LARGER_CACHE = "huge pages", "larger thread caches"
"""Names that the judge knows, since each tells two causes apart."""

KEEPING = ("keep freed memory, map no block", "keep freed memory")
"""Names of those that help only where memory is returned and requested again."""


def probes(facts: WallFacts, *names: str) -> list[str]:
    """Preloads that take a cause away, by their names; none where nothing can be preloaded."""
    return [] if facts.wall.irreplaceable else [f"price: {name}" for name in names]


def against(facts: WallFacts, cause: Cause, *, runtime: str = "", metric: Metric = "cpu") -> list[Remedy]:
    """The table's remedies against a cause, in its order, judged by such data.

    Left out is what does nothing on the allocator that serves the program, or on the `runtime` whose
    collector is the cause.
    """
    known = table.against(cause)
    return [_as_trial(each, metric) for each in known if _acts(each, facts, runtime)]


def by_hand(name: str, note: str, *, metric: Metric = "wall") -> list[Remedy]:
    """Advice for what no allocator changes."""
    return [Remedy(name=name, note=note, metric=metric)]


def _acts(known: KnownRemedy, facts: WallFacts, runtime: str) -> bool:
    if known.name == LARGER_CACHE and facts.large_blocks > 0.5:
        return False  # the tunable raises how many blocks are kept, and not how large ones
    serves = "glibc" if facts.on_glibc else facts.wall.allocator
    return not known.on or bool({runtime, serves} & {*known.on})


def _as_trial(known: KnownRemedy, metric: Metric) -> Remedy:
    return Remedy(
        name=known.name,
        note=known.note or known.how,
        environment=known.environment,
        allocator=known.allocator,
        metric=metric,
        hook=known.hook,
        how=known.how if known.hook else "",
    )
