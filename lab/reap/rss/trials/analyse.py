"""Choice of the remedies to try, their order, and their ranking. Pure functions."""

import math
from collections.abc import Collection, Mapping, Sequence

from reap.allocators.remedies.table import KnownRemedy, of_memory
from reap.experiment.records import Ratio, Side
from reap.rss.records import Owner, Parts, Residence, Taken
from reap.rss.trials.records import Tried
from reap.rss.verdict.holders import JEMALLOC, Holder

ROUNDS = 3
"""Paired rounds of those that gave most in their first run, where there is time ..."""
LEAST_ROUNDS = 2
"""... and at least: of one round there is no interval."""
MOST_ROUNDS = 5
COPIES = 2
"""The program as it is runs twice a round."""
LEAST_FINALISTS = 2
CPU = ("cpu_per_request", "cpu")
"""Metrics of what a remedy costs in CPU time, the first that is known."""
REQUESTS = ("latency_p99", "latency_mean", "request_p99", "throughput")
"""Of what it costs those that wait for the program."""


def applicable(residence: Residence, runtimes: Collection[str], *, huge_pages: bool) -> list[KnownRemedy]:
    """The remedies that could do anything, those that the account speaks for first.

    `runtimes` are those of the program (`cpython`, `go`, `jvm`, `ruby`, `v8`); with `huge_pages` the kernel
    gives them to programs.
    """
    moment = residence.settled
    known = {residence.allocator, *runtimes, *(each.allocator for each in moment.linked)}
    found = [
        each
        for each in of_memory()
        if (not each.on or known & {*each.on}) and (huge_pages or each.huge_pages != "off")
    ]
    return sorted(found, key=lambda each: -_grounds(each, moment))


def environment(
    remedy: KnownRemedy, residences: Sequence[Residence], written: Mapping[str, Collection[str]]
) -> dict[str, str] | None:
    """The variables of a remedy as they are for this program; None where a size in them is not known.

    `{go 75%}` stands for three quarters of that part of settled memory, in MiB. A jemalloc that is linked in
    has a variable of its own: `written` are the ones that stand in a file, by the file's name.
    """
    moment = residences[0].settled
    made: dict[str, str] = {}
    for name, value in remedy.environment.items():
        words = remedy.sized(value, lambda part: int(getattr(moment.parts, part)))
        if words is None:
            return None
        own = name == JEMALLOC and not remedy.allocator
        made |= dict.fromkeys(_variables(residences, written) if own else [name], words)
    return made


def linked(residences: Sequence[Residence]) -> list[Owner]:
    """The allocators that are linked into files of the processes."""
    return [owner for each in residences for owner in each.settled.linked]


def _variables(residences: Sequence[Residence], written: Mapping[str, Collection[str]]) -> list[str]:
    """Environment variables that the jemallocs of the program read."""
    found = {JEMALLOC: None} if any(each.allocator == "jemalloc" for each in residences) else {}
    for owner in linked(residences):
        if owner.allocator == "jemalloc":
            found |= dict.fromkeys(written.get(owner.file) or [Holder("jemalloc", linked=owner).variable])
    return list(found)


def _grounds(remedy: KnownRemedy, moment: Taken) -> float:
    """The share of memory that speaks for it, in tenths: less of a difference decides nothing."""
    names = {*Parts.__struct_fields__} & {*remedy.owners}
    size: int = sum(getattr(moment.parts, name) for name in names)
    size = max(size, moment.huge) if "huge" in remedy.owners else size
    return round(10 * size / max(1, moment.resident))


def runs_for(arms: int, finalists: int = LEAST_FINALISTS, rounds: int = LEAST_ROUNDS) -> int:
    """Number of runs of the program that it takes to try `arms` remedies."""
    return arms + 1 + rounds * (min(arms, finalists) + COPIES)


def affordable(wanted: int, runs: int) -> int:
    """Number of remedies to try in `runs` runs; about half of the runs are for the first of each."""
    most = max(runs // 2 - 1, 1)
    return max((n for n in range(1, min(wanted, most) + 1) if runs_for(n) <= runs), default=0)


def finalists(first: Mapping[str, float], runs: int) -> list[str]:
    """Remedies that saved most in their first run, as many as have all rounds in `runs` runs.

    Two at least. `first` is the settled memory of each.
    """
    ordered = sorted(first, key=lambda name: first[name])
    return ordered[: max(LEAST_FINALISTS, runs // ROUNDS - COPIES)]


def rounds_of(arms: int, runs: int) -> int:
    """Number of rounds of `arms` finalists in `runs` runs."""
    return max(LEAST_ROUNDS, min(MOST_ROUNDS, runs // (arms + COPIES)))


def first_of(side: Side, metrics: Sequence[str]) -> Ratio | None:
    """The first of these metrics that the rounds have."""
    return next((side.ratios[name] for name in metrics if name in side.ratios), None)


def ranked(tried: Sequence[Tried]) -> list[Tried]:
    """Sorts by memory left, least first: remedies tried in rounds, then those of one run, then the failed."""

    def place(each: Tried) -> tuple[bool, bool, float]:
        ratio = each.ratio.ratio.value if each.ratio else math.inf
        return bool(each.problem), each.ratio is None, ratio if each.ratio else each.settled or math.inf

    return sorted(tried, key=place)
