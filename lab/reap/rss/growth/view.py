"""Data that the figure of the page is drawn from: memory over all starts, by what grows for one reason."""

from collections.abc import Sequence

from reap.base import units
from reap.draw.figure import Figure
from reap.rss.growth.records import WORDS, Snapshot
from reap.rss.view import Owned, Owners

_POINTS = 300
"""More cannot be seen."""
_COLOURS = {
    "files": "files",
    "other": "other",
    "live": "live",
    "heap": "heap",
    "free": "inside",
    "lazy_free": "lazy_free",
}
"""By group, the part whose colour it has. What cannot be returned to the OS lies below what can."""


def areas(of: Sequence[Sequence[Snapshot]]) -> Owners:
    """The starts one after another, at least one, thinned out; groups without a byte are left out."""
    times, shown = _joined(of)
    levels = {name: [each.groups[name] for each in shown] for name in _COLOURS}
    return Owners(
        whole="resident",
        seconds=times,
        owners=[
            Owned(part=part, name=WORDS[name], bytes=levels[name])
            for name, part in _COLOURS.items()
            if any(levels[name])
        ],
        most=max(each.resident for each in shown),
        longest=times[-1],
    )


def figure(drawn: Owners) -> Figure:
    """The words of the areas."""
    return Figure(
        "owners",
        "Resident memory over time",
        "What can be returned to the OS lies above the rest.",
        f"at most {units.size(drawn.most)} in {units.duration(drawn.longest)}",
        wide=True,
    )


def _joined(of: Sequence[Sequence[Snapshot]]) -> tuple[list[float], list[Snapshot]]:
    """The starts one after another, thinned out; and when each snapshot was, without the time between."""
    times: list[float] = []
    shown: list[Snapshot] = []
    before = 0.0
    for start in of:
        times += [round(before + each.seconds - start[0].seconds, 4) for each in start]
        shown += start
        before = times[-1]
    step = max(1, -(-len(shown) // _POINTS))
    return times[::step], shown[::step]
