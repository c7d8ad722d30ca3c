"""The exact commands that a verdict ends with. Only commands that exist, quoted for a shell."""

import shlex

from reap.experiment.records import Side

_CATALOGUE = frozenset({"glibc", "jemalloc", "mimalloc", "tcmalloc"})
"""Names that `--allocators` knows on every machine that has them; others are given as NAME=/path."""


def compare(command: list[str], sides: list[Side] | None = None, runs: int | None = None) -> str:
    """Compare allocators on the program: these sides, or those that `reap compare` chooses."""
    words = ["reap", "compare"]
    if sides:
        words += ["--allocators", ",".join(_name(side) for side in sides)]
    if runs is not None:
        words += ["--runs", str(runs)]
    return shlex.join([*words, "--", *command])


def record_full(command: list[str]) -> str:
    """Record every allocation with its stack, and show it."""
    return (
        shlex.join(["reap", "record", "--depth", "full", "-o", "full.reap", "--", *command])
        + " && reap show full.reap"
    )


def run(command: list[str]) -> str:
    """Record, compare, judge."""
    return shlex.join(["reap", "run", "--", *command])


def switched(side: Side, command: list[str]) -> str:
    """The program under this allocator; empty where LD_PRELOAD cannot name its file."""
    if not side.provider.startswith("/") or any(c in side.provider for c in " :\t\n"):
        return ""
    return f"LD_PRELOAD={shlex.quote(side.provider)} {shlex.join(command)}"


def _name(side: Side) -> str:
    plain = side.allocator in _CATALOGUE or not side.provider.startswith("/")
    return side.allocator if plain else f"{side.allocator}={side.provider}"
