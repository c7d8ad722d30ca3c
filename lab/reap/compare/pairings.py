"""Pairing of the runs of a round, in words. Pure functions."""

from reap.base import units
from reap.base.text import printable
from reap.experiment.records import Pairing

SERVED = (
    "CPU time and page faults are the server's over {loads} of each start, without the start, the loads "
    "before them that warm it up, and the load generator; peak memory is from start to stop."
)


def served(held: Pairing, loads: int) -> str:
    """Describes how the servers of a round were paired, and what of the `loads` of a start is measured."""
    return f"{_served(held)} {SERVED.format(loads=units.number(loads, 'load'))}"


def _served(held: Pairing) -> str:
    if held.method == "simultaneous":
        return (
            "The servers of a round shared one core at the same time, and their loads another: throughput "
            "and latency were not compared."
        )
    if held.method == "sliced":
        return (
            "The servers of a round took turns of 20 to 50 ms on all cores, each with its load, "
            f"{_by(held)}: throughput and latency were not compared."
        )
    why = f": {printable(held.reason)}" if held.reason else ""
    return f"The servers of a round ran one after another{why}."


def _by(held: Pairing) -> str:
    """Names the mechanism of turns, and why runs take turns where that was not asked for."""
    how = (
        "by the freezer of cgroups"
        if held.turns == "freezer"
        else "by SIGSTOP and SIGCONT (no cgroup can be made here)"
    )
    return f"{how}, since {printable(held.reason)}" if held.reason else how


def paired(held: Pairing, *, littered: bool = False) -> str:
    """Describes how runs of a round were paired, and why if not asked for. Littered runs have long turns."""
    where = ", ".join(map(printable, held.private.folders)) if held.private else ""
    view = f", each with a private copy-on-write view of {where}" if where else ""
    if held.method == "simultaneous":
        again = (
            " A run that ended early was restarted, unmeasured, beside the others." if held.restarts else ""
        )
        return f"Runs of a round shared one core{view}, so wall time was not compared.{again}"
    if held.method == "sliced":
        long = "0.1 to 0.2 s" if littered else "20 to 50 ms"
        apart = f", in {held.groups} groups, as memory does not hold all at once" if held.groups > 1 else ""
        return (
            f"Runs of a round took turns of {long} on all cores{view}{apart}, {_by(held)}: "
            "wall time is that of a run's own turns."
        )
    why = f": {printable(held.reason)}" if held.reason else ""
    return f"Runs of a round were made one after another{why}."
