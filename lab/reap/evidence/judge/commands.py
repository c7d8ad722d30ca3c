"""The exact commands that a verdict ends with. Only commands that exist, quoted for a shell."""

import shlex

from reap.answer.commands import preloading, with_variables
from reap.experiment.records import Side

_CATALOGUE = frozenset({"glibc", "jemalloc", "mimalloc", "tcmalloc"})
"""Names that `--allocators` knows on every machine that has them; others are given as NAME=/path."""


def compare(again: list[str], sides: list[Side] | None = None, runs: int | None = None) -> str:
    """Compare allocators on the program that `again` names: these sides, or those that compare chooses."""
    words = ["reap", "compare"]
    if sides:
        words += ["--allocators", ",".join(_name(side) for side in sides)]
    if runs is not None:
        words += ["--runs", str(runs)]
    return shlex.join([*words, *again])


_FOR_LOADS = frozenset({"--loads", "--requests-per-load", "--warmup"})
"""Options of a server for the verbs that measure each of its loads."""


def watch(again: list[str]) -> str:
    """See where the time of the server that `again` names goes; empty where each start must be prepared."""
    kept = _of_server(again)
    return shlex.join(["reap", "wall", *kept]) if kept else ""


def _of_server(again: list[str]) -> list[str]:
    """Options that name a server to a verb that neither prepares a start nor measures each load, or none."""
    pairs = list(zip(again[::2], again[1::2], strict=True))
    if {"--prepare", "--cleanup"} & {option for option, _ in pairs}:
        return []
    return [word for pair in pairs if pair[0] not in _FOR_LOADS for word in pair]


def record_full(command: list[str]) -> str:
    """Record every allocation with its stack, and show it."""
    return (
        shlex.join(["reap", "record", "--depth", "full", "-o", "full.reap", "--", *command])
        + " && reap show full.reap"
    )


def run(again: list[str], *, budget: str = "", runs: int | None = None) -> str:
    """Record, compare, judge; within so many seconds or in so many rounds, if any are named."""
    within = ["--budget", budget] if budget else []
    rounds = ["--runs", str(runs)] if runs is not None else []
    return shlex.join(["reap", "run", *within, *rounds, *again])


def remedies(again: list[str]) -> str:
    """Try remedies on the memory of what `again` names; empty where each start must be prepared."""
    kept = again if again[0] == "--" else _of_server(again)
    return shlex.join(["reap", "rss", "--try", *kept]) if kept else ""


def switched(side: Side, command: list[str], inherited: str = "") -> str:
    """The program under this allocator, before what LD_PRELOAD names anyway.

    Empty where LD_PRELOAD cannot name its file.
    """
    preload = preloading(side.provider, inherited)
    return with_variables(preload, command) if preload else ""


def _name(side: Side) -> str:
    plain = side.allocator in _CATALOGUE or not side.provider.startswith("/")
    return side.allocator if plain else f"{side.allocator}={side.provider}"
