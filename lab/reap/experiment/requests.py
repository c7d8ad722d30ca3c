"""The requests that a program marks, in an experiment: timed wherever its first run has marked any."""

from collections.abc import Sequence

from reap.experiment.metrics import ENOUGH_REQUESTS
from reap.experiment.records import Cell, Run

_NONE_WHOLE = (
    "the program marks requests, but none that begins and ends in one thread: their times are not compared"
)


def timed(runs: Sequence[Run], cell: Cell, *, warmup: bool) -> bool:
    """Whether the next run's requests are to be timed: in every warm-up, to see whether there are any.

    Where there are, in all measured runs of all arms alike, so that what it costs falls out of the ratios.
    """
    if warmup:
        return True
    if cell.sampled or cell.simulated or cell.counted:
        return False
    return any(run.warmup and run.outcome.requests and run.outcome.requests.count for run in runs)


def notes(runs: Sequence[Run], first: Run | None = None) -> list[str]:
    """Notes on the requests of these runs, to be known before they are compared; `first` is the warm-up."""
    found = [run.outcome.requests for run in runs if run.outcome.requests]
    if not any(each.count for each in found):
        marked = first.outcome.requests if first else None
        if marked and not marked.count and (marked.unfinished or marked.unmatched):
            return [_NONE_WHOLE]
        return []
    said = []
    if lost := sum(each.lost for each in found):
        said.append(f"{lost} requests are not in the percentiles: there was no space to note their times")
    if unfinished := max(each.unfinished for each in found):
        said.append(
            f"{unfinished} threads of a run ended within a request, which is not counted; if its end is "
            "missing, those after it in its thread are part of it, and not counted either"
        )
    if unmatched := sum(each.unmatched for each in found):
        said.append(f"{unmatched} ends of requests had no begin in their thread, and were passed over")
    fewest = min(each.count for each in found)
    if fewest < ENOUGH_REQUESTS:
        said.append(f"only {fewest} requests were marked in a run: too few for the P99.9")
    return said
