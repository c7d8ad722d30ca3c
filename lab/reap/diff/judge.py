"""Verdict on whether a growth is more than was allowed, and notes that a reader of a comparison must know."""

import math
import re
from dataclasses import dataclass

from reap.base import amounts
from reap.base.errors import ExitCode, ReapError
from reap.base.text import did_you_mean, printable
from reap.diff.records import Budget, BudgetVerdict, Change, Recorded
from reap.recording.analyse.calls import MEASURES, UNITS, Measure

_GRAMMAR = re.compile(r"\s*([a-z-]+)\s*>\s*\+(.*)", re.ASCII)
WIDER = 3.290526731491926 / 1.959963984540054
"""From a 95 % CI to one that the truth is beyond, on either side, once in 2,000 times."""


@dataclass(frozen=True)
class Allowed:
    """One `--fail-if`, understood."""

    text: str
    measure: Measure
    amount: float
    """A share of the first recording's, or a number in the measure's unit."""
    share: bool


def understood(text: str) -> Allowed:
    """`METRIC > +N %` or `METRIC > +SIZE`. Throws ReapError for all else."""
    found = _GRAMMAR.fullmatch(text)
    if found is None:
        raise _unclear(text, "it is not METRIC > +N % or METRIC > +SIZE")
    name, amount = found.groups()
    measure = next((each for each in MEASURES if each == name), None)
    if measure is None:
        raise _unclear(text, f"{did_you_mean(name, MEASURES)}METRIC is one of {', '.join(MEASURES)}")
    if (share := amounts.parse(amount, "percent")) is not None:
        return Allowed(text.strip(), measure, share, share=True)
    kind = UNITS[measure]
    if (number := amounts.parse(amount, kind)) is None:
        raise _unclear(text, f"the growth of {measure} is a number with % or {amounts.FORMS[kind]}")
    return Allowed(text.strip(), measure, number, share=False)


def _unclear(text: str, why: str) -> ReapError:
    return ReapError(
        f"--fail-if '{printable(text)}' is not understood: {why}",
        "examples: --fail-if 'peak > +5 %', --fail-if 'bytes > +10 MiB', --fail-if 'allocations > +1000'",
        ExitCode.USAGE,
    )


def judged(allowed: Allowed, change: Change) -> Budget:
    """Judges a measure's growth. Estimates exceed only if an interval of 99.9 % is above the limit."""
    limit = allowed.amount * change.before.value if allowed.share else allowed.amount
    # What the limit is a share of is an estimate, too: the growth beyond it has the interval of both.
    factor = 1 + allowed.amount if allowed.share else 1.0
    before, after = change.before, change.after
    beyond = change.change.value - limit
    below = math.hypot(after.value - after.low, factor * (before.high - before.value))
    above = math.hypot(after.high - after.value, factor * (before.value - before.low))
    verdict: BudgetVerdict = "inconclusive"
    if beyond - WIDER * below > 0:
        verdict = "exceeded"
    elif beyond + above <= 0:
        verdict = "kept"
    return Budget(text=allowed.text, measure=allowed.measure, limit=limit, verdict=verdict)


def require_complete(*sides: Recorded) -> None:
    """Throws ReapError for a recording whose figures may be too low to be judged by."""
    for side in sides:
        if not side.complete:
            raise ReapError(
                f"--fail-if cannot be decided: {side.file} is damaged or was cut short",
                "record the program again, or compare without --fail-if",
            )


def limits(before: Recorded, after: Recorded, notes: tuple[list[str], list[str]]) -> list[str]:
    """Notes that a reader must know, the gravest first. `notes` are those of each recording by itself."""
    said = []
    if before.program != after.program:
        said.append(
            f"These are different programs: {before.program} and {after.program}. Their own functions are "
            "matched by name alone."
        )
    if before.command[1:] != after.command[1:]:
        said.append("The arguments differ, so the programs may have done different work.")
    for side, found in zip((before, after), notes, strict=True):
        said += [f"{side.file}: {note}" for note in found]
        if side.allocations == 0:
            said.append(f"{side.file} has no allocation: all that the other one has is new, or gone.")
    triage = [side.file for side in (before, after) if side.depth == "triage"]
    if triage:
        said.append(
            f"{' and '.join(triage)}: a triage recording. Allocations and bytes in total are exact; all else "
            "is estimated from samples. A change within its 95 % CI is inconclusive: use --depth full."
        )
    said.append(
        "One recording each: a change between runs of the same build is not told apart from one between "
        "builds. Record the same build twice to see how much it varies."
    )
    said.append(
        "Functions are matched by name and module. A function that was renamed, or inlined in one build "
        "only, appears as one that shrank and one that grew."
    )
    return said
