"""Reasons why the figures of an allocator that was tried say nothing of another allocator."""

from reap.experiment.records import Comparison, Side
from reap.launch import price


def why_not(side: Side) -> str:
    """Reason why an allocator's figures cannot be trusted, in a few words."""
    if side.itself:
        return "it is what the program has by itself"
    if side.problem:
        return side.problem.rstrip(".")
    if not side.verified:
        return "malloc did not come from it"
    if not side.same_exit:
        return "the program exited with a different status under it"
    if side.same_output is False:
        return "the program's output was different under it"
    return "its CPU time was not measured"


def sentences(comparison: Comparison | None) -> list[str]:
    """Sentence on why no allocator could be compared, where some were tried."""
    sides = comparison.sides if comparison else []
    reasons = "; ".join(
        f"{side.allocator}: {why_not(side)}" for side in sides if not price.is_price(side.allocator)
    )
    if not reasons:
        return []
    return [f"No other allocator could be compared ({reasons}), so it is unknown what would help."]
