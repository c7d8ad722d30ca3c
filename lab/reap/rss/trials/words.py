"""Results of the trials of remedies, in words."""

import shlex
from collections.abc import Sequence

from reap.base import units
from reap.base.records import Estimate
from reap.compare.phrases import METRICS
from reap.experiment.records import Ratio
from reap.rss.trials.judge import Effect, effect, winner
from reap.rss.trials.records import Change, Trials, Tried


def sentences(trials: Trials) -> list[str]:
    """The verdict: the remedy that gives most, with what it costs."""
    best = winner(trials)
    if best is not None and best.ratio is not None:
        cost = "".join(f"; {_cost(each)}" for each in (best.cpu, best.requests) if each)
        sizes = f"{units.size(best.ratio.value)} settled instead of {units.size(best.ratio.baseline)}"
        return [f"{best.change.name} gives most: {sizes} (95 % CI {_span(best.ratio)}){cost}."]
    seems = next((each for each in trials.tried if effect(each) is Effect.OPEN), None)
    if seems is not None and seems.ratio is not None:
        sizes = f"{units.size(seems.ratio.value)} instead of {units.size(seems.ratio.baseline)}"
        rounds = units.number(trials.rounds, "round")
        found = f"{seems.change.name} comes first, {sizes} in {rounds}"
        return [f"inconclusive: {found}, which is not significant; allow more with --budget."]
    return [f"none of {len(trials.tried)} tried lowers settled memory, {units.size(trials.baseline)}."]


def basis(trials: Trials) -> str:
    """Method by which the figures were measured."""
    return (
        f"{units.number(trials.runs, 'run')}: one of each remedy, then "
        f"{units.number(trials.rounds, 'round')} of those that gave most beside the program as it is. "
        "Settled memory is the median of the second half of a run, over all processes (PSS)."
    )


def rows(trials: Trials) -> list[tuple[str, str, str, str]]:
    """A row for each remedy that was tried: its name, settled memory, CPU time, and what that means."""
    base = (AS_IT_IS, units.size(trials.baseline), "", "")
    return [base, *(_row(each) for each in trials.tried)]


def requests(trials: Trials) -> list[str]:
    """A line for each remedy of the rounds: what it does to the requests of a server."""
    known = [each for each in trials.tried if each.requests is not None]
    return [f"{each.change.name}: {_cost(each.requests)}" for each in known if each.requests]


AS_IT_IS = "as it is"

HEADINGS = ("remedy", "settled memory (95 % CI)", "CPU time (95 % CI)", "effect")


def page(trials: Trials) -> dict[str, object]:
    """Contents of a page on the trials: a table, and how remedies are applied."""
    return {
        "headings": list(HEADINGS),
        "rows": rows(trials),
        "settings": [*requests(trials), *settings(trials.tried), *not_tried(trials), basis(trials)],
    }


def not_tried(trials: Trials) -> list[str]:
    """A line for each remedy that was not tried: why, and how it is tried."""
    return [
        f"not tried: {each.change.name} ({each.why}): {setting(each.change)}" for each in trials.not_tried
    ]


def setting(change: Change) -> str:
    """Settings or steps by which somebody applies a remedy."""
    said = [f"{name}={shlex.quote(value)}" for name, value in change.environment.items()]
    said += [f"under {change.allocator}"] if change.allocator else []
    return " ".join([*([change.how] if change.how else []), *said])


def settings(tried: Sequence[Tried]) -> list[str]:
    """Lines on how to apply each remedy that saves memory, in their order."""
    helpful = [each.change for each in tried if effect(each) is Effect.LESS]
    return [f"{each.name}: {setting(each)}" for each in helpful]


def _row(tried: Tried) -> tuple[str, str, str, str]:
    judged = effect(tried)
    name = tried.change.name
    if tried.problem:
        return name, units.UNKNOWN, "", f"failed: {tried.problem}"
    if tried.ratio is None:
        size = units.size(tried.settled) if tried.settled is not None else units.UNKNOWN
        return name, size, "", "one run, no interval"
    cpu = f"{units.change(tried.cpu.ratio.value)} ({_changes(tried.cpu.ratio)})" if tried.cpu else ""
    return name, f"{units.size(tried.ratio.value)} ({_span(tried.ratio)})", cpu, judged.value


def _cost(cost: Ratio) -> str:
    return f"{METRICS[cost.metric]} {_change(cost)}"


def _change(cost: Ratio) -> str:
    return f"{units.change(cost.ratio.value)} (95 % CI {_changes(cost.ratio)})"


def caption(tried: Tried) -> list[str]:
    """Lines above the chart of a remedy: settled memory, what that means, and what the remedy costs."""
    *_, means = _row(tried)
    if tried.problem or tried.settled is None:
        return [means]
    span = f" (95 % CI {_span(tried.ratio)})" if tried.ratio else ""
    costs = [_cost(each) for each in (tried.cpu, tried.requests) if each]
    return [f"{units.size(tried.settled)} settled{span}: {means}", *costs]


def _changes(ratio: Estimate) -> str:
    if units.says_nothing(ratio):
        return f"unknown: {units.TOO_FEW}"
    return f"{units.change(ratio.low)} to {units.change(ratio.high)}"


def _span(ratio: Ratio) -> str:
    """The interval in bytes, of the program as it is at its median."""
    if units.says_nothing(ratio.ratio):
        return f"unknown: {units.TOO_FEW}"
    return (
        f"{units.size(ratio.ratio.low * ratio.baseline)} to {units.size(ratio.ratio.high * ratio.baseline)}"
    )
