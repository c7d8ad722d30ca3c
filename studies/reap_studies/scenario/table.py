"""A scenario's remedies side by side, as rows of words for a terminal and for a page."""

from reap.api import RESIDENCE_NAMES as NAMES
from reap.api import ResidenceParts as Parts
from reap.api import remedy_words, statistics, units
from reap_studies.scenario.judge import ratio
from reap_studies.scenario.records import Played, Tried


def table(played: Played) -> tuple[list[str], list[list[str]]]:
    """Headings, and a row for each remedy."""
    if played.scenario.kind == "memory":
        return ["", "at its largest", "at the end", "most of that is"], [
            _memory(each) for each in played.tried
        ]
    headings = ["", "answered/s", "to the first", "P99", "to the first", "P99.9", "retries"]
    return headings, [_requests(each, played.tried[0]) for each in played.tried]


def settings(played: Played) -> list[str]:
    """How to have each remedy that is a setting or another allocator, in words of a shell."""
    lines = []
    for arm in (each.arm for each in played.tried):
        allocator = arm.allocator if arm.allocator not in {"glibc", arm.name} else ""
        if arm.environment or allocator:
            lines.append(remedy_words(arm.name, arm.environment, allocator))
    return lines


def _memory(tried: Tried) -> list[str]:
    seen = tried.residence
    if seen is None:
        return [tried.arm.name, tried.skipped, "", ""]
    last = seen.last
    most = max(Parts.__struct_fields__, key=lambda name: getattr(last.parts, name))
    part = getattr(last.parts, most)
    what = f"{units.size(part)} {NAMES[most]}"
    return [tried.arm.name, units.size(seen.largest.resident), units.size(last.resident), what]


def _requests(tried: Tried, first: Tried) -> list[str]:
    if not tried.runs:
        return [tried.arm.name, tried.skipped, "", "", "", "", ""]
    runs = sorted(tried.runs, key=lambda run: run.rate)
    middle = runs[len(runs) // 2]
    rate, tail = "", ""
    if tried is not first and len(tried.runs) >= statistics.LEAST_ROUNDS:
        rate = units.ratio_with_interval(ratio(tried, first, lambda run: run.rate))
        tail = units.ratio_with_interval(ratio(tried, first, lambda run: run.p99_ns))
    times = [units.duration(value / 1e9) for value in (middle.p99_ns, middle.p999_ns)]
    retries = units.count(middle.retries)
    return [tried.arm.name, units.count(middle.rate), rate, times[0], tail, times[1], retries]
