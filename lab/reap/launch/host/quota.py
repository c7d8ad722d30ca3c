"""CPU time that our control groups leave us, and how often they have stopped us for it."""

from pathlib import Path

from reap.base import units
from reap.base.records import Record
from reap.launch.host import cgroups


class Quota(Record):
    """A limit of CPU time: when it is used up, all that is in the group stops until its next period."""

    cores: float
    """CPU time per time; 0.5 is half a core."""
    stops: int
    """Periods in which it was used up, since the group was made."""


def here(membership: Path = cgroups.MEMBERSHIP, root: Path = cgroups.ROOT) -> Quota | None:
    """The smallest quota that we are under, with the stops of all; None without one."""
    found = []
    for folder, version in cgroups.folders("cpu", membership, root):
        if version == 2:
            limit, _, period = cgroups.text(folder / "cpu.max").strip().partition(" ")
        else:
            limit = cgroups.text(folder / "cpu.cfs_quota_us").strip()
            period = cgroups.text(folder / "cpu.cfs_period_us").strip()
        if limit.isdigit() and period.isdigit():
            stops = cgroups.statistic(folder / "cpu.stat", "nr_throttled")
            found.append(Quota(cores=int(limit) / int(period), stops=stops))
    if not found:
        return None
    return Quota(cores=min(each.cores for each in found), stops=sum(each.stops for each in found))


def note(before: Quota | None, after: Quota | None) -> list[str]:
    """Note that runs between these two were stopped; empty where they were not. Pure."""
    stops = after.stops - before.stops if before and after else 0
    if not after or stops <= 0:
        return []
    times = units.number(stops, "period")
    stopped = f"a CPU quota of {after.cores:g} cores stopped the runs in {times} of it"
    return [f"{stopped}: wall time includes that, CPU time does not"]
