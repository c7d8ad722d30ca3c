"""The requests that a program marks, in an experiment: timed wherever its first run has marked any."""

from collections.abc import Sequence

from reap.base.errors import ExitCode, ReapError
from reap.experiment.metrics import ENOUGH_REQUESTS
from reap.experiment.records import Cell, Run
from reap.experiment.spec import Spec
from reap.launch.records import Outcome


def timed(runs: Sequence[Run], cell: Cell, *, warmup: bool) -> bool:
    """Whether the next run's requests are to be timed: in every warm-up, to see whether there are any.

    Where there are, in all measured runs of all arms alike, so that what it costs falls out of the ratios.
    """
    if warmup:
        return True
    if cell.sampled or cell.simulated or cell.counted:
        return False
    return any(run.warmup and run.outcome.requests and run.outcome.requests.count for run in runs)


def require(spec: Spec, outcome: Outcome) -> None:
    """Throws ReapError where requests were asked for and the first run has marked none."""
    found = outcome.requests
    if not spec.requests or found is None or found.count:
        return
    name = spec.program.command[0]
    if found.unfinished or found.unmatched:
        raise ReapError(
            f"{name} marks requests, but none that begins and ends in one thread",
            "see docs/marks.md for what a request is",
            ExitCode.FAILED,
        )
    raise ReapError(
        f"{name} marks no requests, so there are no times of requests to compare",
        "mark them with reap/mark.h or reap.mark (docs/marks.md), or leave out --requests",
        ExitCode.FAILED,
    )


def notes(runs: Sequence[Run]) -> list[str]:
    """Notes on the requests of these runs, to be known before they are compared."""
    found = [run.outcome.requests for run in runs if run.outcome.requests]
    if not any(each.count for each in found):
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
