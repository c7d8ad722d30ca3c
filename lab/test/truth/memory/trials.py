"""Reads what `reap rss --try` found: the remedy that is ranked first, by name of the arm measured by hand."""

from dataclasses import dataclass
from typing import Any

from memory.records import LEAST, WITHIN

_ARMS = {
    "malloc_trim now and then": "trim",
    "malloc_trim once": "trim",
    "trimming by the JVM": "trim_interval",
    "mmap threshold of 128 KiB": "mmap_threshold",
    "trimming the top sooner": "trim_threshold",
    "two arenas": "arena_max",
    "jemalloc": "jemalloc",
    "jemalloc, purging in the background": "jemalloc_background",
    "mimalloc": "mimalloc",
    "purging in the background": "background",
    "purging at once": "purge_delay",
    "returning more with each free": "release_rate",
    "returning free spans at once": "aggressive",
    "returning pages of Go at once": "at_once",
    "no huge pages": "no_huge_pages",
    "no huge pages under jemalloc": "no_huge_pages",
}
"""Arms of `records.arms` by the name of the remedy."""


@dataclass(frozen=True)
class Ranked:
    """The remedy that is ranked first."""

    arm: str
    """Empty where none gives anything; the remedy's own name where it was not measured by hand."""
    megabytes: float
    """Settled, with it."""


def first(tree: object) -> Ranked:
    """Return what the JSON of `reap rss --try` ranks first. Throws LookupError where it has no trials.

    A remedy that gives less than WITHIN or LEAST gives nothing, as in what was measured by hand.
    """
    trials = _trials(tree)
    baseline = trials["baseline"] / 1e6
    counted = [each for each in trials["tried"] if not each["problem"] and each["settled"] is not None]
    if not counted:
        return Ranked("", baseline)
    best = counted[0]
    megabytes = best["settled"] / 1e6
    if baseline <= max(megabytes * (1 + WITHIN), megabytes + LEAST):
        return Ranked("", baseline)
    name = best["change"]["name"]
    return Ranked(_ARMS.get(name, name), megabytes)


def _trials(tree: object) -> dict[str, Any]:
    nodes = [tree]
    for node in nodes:
        if isinstance(node, dict):
            if {"baseline", "tried", "not_tried"} <= node.keys():
                return node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    raise LookupError("the JSON has no trials of remedies")
