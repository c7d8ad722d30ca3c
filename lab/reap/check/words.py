"""Words on a check, the same on a terminal, in JUnit, in annotations and on the page."""

import os
import shlex

from reap.base import units
from reap.base.records import Estimate
from reap.base.text import printable
from reap.check.records import UNITS, Check, Figure, Judged, Limit, Place

LABELS: dict[Figure, str] = {
    "peak": "Peak (bytes in use)",
    "bytes": "Bytes allocated",
    "allocations": "Allocations",
    "temporary": "Temporary allocations",
    "live-at-exit": "Live at exit (bytes)",
    "allocs-per-mark": "Most allocations in a marked request",
    "bytes-per-mark": "Most bytes in a marked request",
}


def amount(figure: Figure, value: float) -> str:
    """`1.46 KiB`, `1 234`."""
    return units.size(value) if UNITS[figure] == "bytes" else units.count(value)


def measured(figure: Figure, held: Estimate) -> str:
    """Amount that was measured; an estimate with its interval."""
    if held.exact:
        return amount(figure, held.value)
    return f"~{amount(figure, held.value)} ({amount(figure, held.low)} to {amount(figure, held.high)})"


def most(limit: Limit) -> str:
    """A limit, and as it was asked for where that reads otherwise: `191 MiB (200 MB)`, `61`."""
    text = amount(limit.figure, limit.most)
    same = limit.text.replace(" ", "") in {text.replace(" ", ""), f"{limit.most:.0f}"}
    return text if same else f"{text} ({limit.text})"


def name(limit: Limit) -> str:
    """`peak at most 200 MB`, `peak at most 1.54 KiB (peak > +5 % fails)`."""
    if limit.growth:
        return f"{limit.figure} at most {amount(limit.figure, limit.most)} ({limit.text} fails)"
    return f"{limit.figure} at most {limit.text}"


def found(held: Judged) -> str:
    """Figure and limit of a verdict: `peak 238 MiB, limit 191 MiB (200 MB)`."""
    figure = held.limit.figure
    runs = len(held.values)
    value = measured(figure, held.lowest)
    if held.verdict == "exceeded" and runs > 1:
        value = f"at least {value} in each of {units.many(runs, 'run')}"
    return f"{figure} {value}, limit {most(held.limit)}"


def sentence(held: Judged) -> str:
    """The verdict with its figures: `exceeded: peak 238 MiB, limit 191 MiB`, or `ok: peak 1 MiB of 2 MiB`."""
    if held.verdict == "kept":
        figure = held.limit.figure
        return f"ok: {figure} {measured(figure, held.lowest)} of {most(held.limit)}"
    return f"{held.verdict}: {found(held)}"


def place(held: Place, figure: Figure) -> str:
    """`120 MiB in parse (server, src/parse.c:12)`."""
    where = held.module
    if held.file:
        where = f"{where}, {source(held.file)}" + (f":{held.line}" if held.line else "")
    return printable(f"{amount(figure, held.value)} in {held.function} ({where})")


def source(file: str) -> str:
    """A source file as from the current folder, where it is below that."""
    here = os.path.abspath(".") + os.sep  # noqa: PTH100 - a name of a file that need not exist here
    return file.removeprefix(here)


def advice(held: Check) -> str:
    """Advice on what was not recorded; empty where nothing has to be done."""
    if not held.missing:
        return ""
    if not held.to_accept:
        return "mend what the first note says (keep a daemon in the foreground), and run the check again"
    options = " ".join(f"--accept-unrecorded {shlex.quote(name)}" for name in held.to_accept)
    return f"to judge the rest by itself, add {options}; docs/check.md has the ways to record it"


def summary(held: Check) -> str:
    """One line: what the check came to."""
    program = printable(held.program)
    if held.status:
        return f"not checked: {program} failed with exit status {held.status}"
    exceeded = held.exceeded
    if exceeded:
        said = "; ".join(found(each) for each in exceeded)
        return (
            f"failed: {program}: {len(exceeded)} of {units.many(len(held.judged), 'limit')} exceeded: {said}"
        )
    unmeasured = held.unmeasured
    if held.missing:
        if not held.judged:
            return f"not measured: {program}: not all of it was recorded"
        of = units.many(len(held.judged), "limit")
        said = ", ".join(found(each) for each in unmeasured)
        return f"not measured: {program}: {len(unmeasured)} of {of}, as not all was recorded: {said}"
    unsure = sum(each.verdict == "inconclusive" for each in held.judged)
    also = f", {unsure} inconclusive" if unsure else ""
    said = ", ".join(
        f"{each.limit.figure} {measured(each.limit.figure, each.lowest)}" for each in held.judged
    )
    return f"passed: {program}: {units.many(len(held.judged) - unsure, 'limit')} kept{also}: {said}"
