"""Rows of the tables, for the terminal and the page."""

from reap.base import units
from reap.base.records import Estimate
from reap.base.text import printable
from reap.fleet.records import By, Change, Comparison, Fleet, Group, Measure

HEADINGS: dict[By, tuple[str, ...]] = {
    "service": ("Service",),
    "version": ("Service", "Version"),
    "host": ("Host",),
    "site": ("Site",),
}
FIGURES = ("recordings", "hosts", "bytes/s", "share", "blocks/s", "mean peak")
CHANGES = ("before", "after", "change [95 % CI]", "")


def provenance(fleet: Fleet) -> str:
    """Source of the figures, in a line."""
    of = f"{units.many(fleet.recordings, 'recording')} of {units.many(fleet.hosts, 'host')}"
    said = [
        f"{of} in {units.many(fleet.files, 'file')}",
        f"{units.duration(fleet.seconds)} in all, {fleet.first} to {fleet.last}",
    ]
    if fleet.by == "site" and fleet.sampled:
        said.append(f"sites of {units.many(fleet.sampled, 'recording')} are estimates from samples")
    return "; ".join(said)


def notes(fleet: Fleet) -> list[str]:
    """Notes that a reader must know."""
    said = []
    if fleet.skipped:
        said.append(
            f"{units.many(len(fleet.skipped), 'file')} could not be read, and is not in these figures."
        )
    if fleet.duplicates:
        said.append(
            f"{units.many(fleet.duplicates, 'recording')} were in more than one file; each counts once."
        )
    return said


def labels(group: Group, by: By) -> tuple[str, ...]:
    """Names of a group, one for each column."""
    if by == "site":
        return (site(group.function, group.module, group.location),)
    names = {"service": (group.service,), "version": (group.service, group.version), "host": (group.host,)}[
        by
    ]
    return tuple(printable(each) or "(none)" for each in names)


def site(function: str, module: str, location: str) -> str:
    """A function with its line; of code without names, where it lies."""
    if function == location:
        return printable(function)
    where = location if location.startswith(f"{module}+") or not module else f"{module}, {location}"
    return printable(f"{function} ({where})")


def figures(group: Group, fleet: Fleet) -> tuple[str, ...]:
    """One for each of FIGURES. Rates are by second that was recorded."""
    seconds = group.seconds or float("nan")
    return (
        units.whole(group.recordings),
        units.whole(group.hosts),
        f"{units.size(group.bytes / seconds)}/s",
        units.percent(group.bytes / fleet.bytes if fleet.bytes else 0.0),
        f"{units.count(group.allocations / seconds)}/s",
        units.UNKNOWN if group.peak_bytes is None else units.size(group.peak_bytes),
    )


def amount(value: float, measure: Measure) -> str:
    """A rate, or a peak."""
    if measure == "peak":
        return units.size(value)
    return f"{units.size(value)}/s" if measure == "bytes" else f"{units.count(value)}/s"


def signed(value: float, measure: Measure) -> str:
    """Change of a rate, or of a peak."""
    return f"+{amount(value, measure)}" if value > 0 else amount(value, measure)


def changed(change: Estimate, measure: Measure) -> str:
    """A change with its interval, where there is one."""
    if change.exact:
        return signed(change.value, measure)
    if measure != "allocations":
        return units.sizes_with_interval(change, "" if measure == "peak" else "/s")
    low, high = units.count(change.low), units.count(change.high)
    return f"{amount(change.value, measure)} [{low}, {high}]"


def change_row(change: Change, measure: Measure) -> tuple[str, ...]:
    """One for each of CHANGES."""
    before, after = amount(change.before, measure), amount(change.after, measure)
    return before, after, changed(change.change, measure), change.verdict


_WHAT = {"bytes": "bytes allocated per second", "allocations": "allocations per second", "peak": "peak bytes"}


def verdict(found: Comparison) -> list[str]:
    """Differences between the versions, in sentences."""
    total, what = found.total, _WHAT[found.measure]
    whole = f"From {found.before} to {found.after}, {what} of {found.service}"
    by = ""
    if total.before > 0:
        by = f" by {units.percent(abs(total.change.value) / total.before)}"
    given = changed(total.change, found.measure)
    said = [
        {
            "grew": f"{whole} grew{by}.",
            "shrank": f"{whole} shrank{by}.",
            "the same": f"{whole} changed by less than 1 %.",
            "inconclusive": f"Inconclusive: {whole[0].lower()}{whole[1:]} changed by {given}.",
        }[total.verdict]
    ]
    grown = [each for each in found.sites if each.change.verdict == "grew"]
    if grown:
        most = grown[0]
        said.append(
            f"Most growth: {site(most.function, most.module, most.location)}, "
            f"{signed(most.change.change.value, found.measure)}."
        )
    if total.verdict == "inconclusive" and min(found.units_before, found.units_after) < 2:
        said.append(f"There is no interval, as a version has a single {found.unit}.")
    return [printable(each) for each in said]


def compared_from(found: Comparison) -> str:
    """Sample sizes behind the means, and the share of changes that is chance."""
    before, after = (units.many(each, found.unit) for each in (found.units_before, found.units_after))
    return (
        f"means over {before} of {found.before} and {after} of {found.after}; expect 5 % of the "
        "changed sites to be chance"
    )
