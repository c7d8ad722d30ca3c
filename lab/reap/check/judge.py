"""Judges whether a figure is more than its limit.

A limit is exceeded only if every run exceeds it. A program that exceeds it in a share p of its runs therefore
fails a check of N runs with the probability p to the power of N: of 10 runs less than once in 1,000 times if
at least half of its runs keep the limit, whatever the distribution of its figures.
"""

from collections.abc import Sequence

from reap.base import amounts, units
from reap.base.errors import ExitCode, ReapError
from reap.base.records import Estimate
from reap.base.text import did_you_mean, printable
from reap.check.records import FIGURES, UNITS, Baseline, Figure, Judged, Limit, Measured, Verdict
from reap.diff.judge import WIDER, Allowed


def limit(figure: str, text: str) -> Limit:
    """The figure may be as large as `text` says: a number, with a unit or without. Throws ReapError."""
    known = next((each for each in FIGURES if each == figure), None)
    if known is None:
        raise ReapError(
            f"there is no figure {printable(figure)} to limit",
            f"{did_you_mean(figure, FIGURES)}the figures are {', '.join(FIGURES)}",
            ExitCode.USAGE,
        )
    kind = UNITS[known]
    most = amounts.parse(text, kind)
    if most is None:
        raise ReapError(
            f"the limit of {known}, {printable(text)}, is not understood",
            f"give {amounts.FORMS[kind]}",
            ExitCode.USAGE,
        )
    return Limit(figure=known, text=text.strip(), most=most, growth=False)


def growth(allowed: Allowed, baseline: Baseline) -> Limit:
    """A limit relative to the largest figure of the baseline's runs. Throws ReapError where it has none."""
    figure: Figure = allowed.measure
    values = [run[figure] for run in baseline.runs if figure in run]
    if not values:
        raise ReapError(f"the baseline has no {figure}", "make it again: add --update")
    before = max(values)
    more = allowed.amount * before if allowed.share else allowed.amount
    return Limit(figure=figure, text=allowed.text, most=before + more, growth=True)


def value(each: Limit, run: Measured) -> Estimate:
    """The figure in one run. Throws ReapError for one per mark of a program that marks no request."""
    found = run.figures.get(each.figure)
    if found is None:
        raise ReapError(
            f"{run.program} marks no request that begins and ends, so {each.figure} cannot be checked",
            "mark requests with reap/mark.h or reap.mark (docs/marks.md), or leave this limit out",
            ExitCode.FAILED,
        )
    return found


def in_run(each: Limit, run: Measured) -> Verdict:
    """Of one run. An estimate exceeds only if its 99.9 % CI is above the limit.

    More of the program could only add to a figure: what exceeds a limit does so in any case.
    """
    found = value(each, run)
    if found.value - WIDER * (found.value - found.low) > each.most:
        return "exceeded"
    if run.missing:
        return "not measured"
    return "kept" if found.high <= each.most else "inconclusive"


def judged(each: Limit, runs: Sequence[Measured]) -> Judged:
    """Of all runs: exceeded if every run exceeds it."""
    values = [value(each, run) for run in runs]
    found = [in_run(each, run) for run in runs]
    verdict: Verdict = "inconclusive"
    if all(held == "exceeded" for held in found):
        verdict = "exceeded"
    elif "kept" in found:
        verdict = "kept"
    elif "not measured" in found:
        verdict = "not measured"
    places = runs[-1].places.get(each.figure, []) if verdict == "exceeded" else []
    return Judged(limit=each, values=values, verdict=verdict, places=places)


def settled(limits: Sequence[Limit], runs: Sequence[Measured]) -> bool:
    """Whether further runs cannot fail the check any more."""
    return not any(judged(each, runs).verdict == "exceeded" for each in limits)


def to_accept(runs: Sequence[Measured]) -> list[str]:
    """The files that have to be accepted as not recorded so that the runs count as measured.

    None if that is not enough.
    """
    if any(run.coverage.cut for run in runs):
        return []
    return sorted({name for run in runs for name in run.to_accept})


def notes(
    runs: Sequence[Measured], limits: Sequence[Limit], baseline: Baseline | None, depth: str
) -> list[str]:
    """Notes that a reader must know, the gravest first."""
    last = runs[-1]
    said = list(last.notes)
    if depth == "triage" and any(not last.figures[each.figure].exact for each in limits):
        said.append(
            "A triage recording: peak, temporary and live-at-exit are estimates, and exceed a limit only if "
            "their 99.9 % CI does. --depth full counts them."
        )
    if baseline is not None:
        if baseline.depth != depth:
            said.append(f"The baseline was recorded with --depth {baseline.depth}, and this with {depth}.")
        if len(baseline.runs) < len(runs):
            said.append(
                f"The baseline has {units.many(len(baseline.runs), 'run')}, and this check {len(runs)}: "
                "where figures vary from run to run, make it with as many (--update --runs N)."
            )
    said += [
        f"The suppression {each.pattern} matches nothing that is live at exit."
        for each in last.suppressed
        if not each.runtime and not each.bytes
    ]
    return said
