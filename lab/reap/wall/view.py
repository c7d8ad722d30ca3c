"""Page of the wall, as plain strings: figures are formatted here, the template places them."""

from dataclasses import dataclass

import markupsafe

from reap.base import units
from reap.base.records import exactly
from reap.base.text import printable
from reap.draw import bars as bars_svg
from reap.draw.bars import Bar
from reap.evidence.records import Wall
from reap.wall import words

_SHADES = {"allocator": 1, "lock": 2, "collector": 2, "other": 0}
"""As in the flame graph; what is not here is the kernel's."""
_KERNEL = 3
_MOST_FUNCTIONS = 15


@dataclass(frozen=True)
class WallView:
    """One program at the wall."""

    tiles: list[tuple[str, str, str]]
    owners: markupsafe.Markup
    """An SVG of ours, in which all words are escaped; empty without samples."""
    calls: list[tuple[str, str, str]]
    waits: list[tuple[str, str]]
    faults: list[tuple[str, str]]
    hot: list[tuple[str, str, str, str]]
    collectors: list[str]
    notes: list[str]


def view(wall: Wall) -> WallView:
    """View of `wall` for the page."""
    return WallView(
        tiles=[(name, printable(value), printable(remark)) for name, value, remark in words.tiles(wall)],
        owners=_owners(wall),
        calls=words.calls(wall),
        waits=words.waits(wall),
        faults=words.faults(wall),
        hot=_hot(wall),
        collectors=[words.collector(each) for each in wall.collections],
        notes=[printable(note) for note in wall.notes],
    )


def _owners(wall: Wall) -> markupsafe.Markup:
    bars = [
        Bar(
            label,
            exactly(part),
            _SHADES.get(name, _KERNEL),
            f"{units.percent(part)} ({units.samples(count)})",
        )
        for name, label, part, count in words.owners(wall)
    ]
    if not bars:
        return markupsafe.Markup()
    drawn = bars_svg.draw("CPU time by who was executing", [("", bars)], unit_line=False)
    return markupsafe.Markup(drawn)  # noqa: S704 - drawn by us; it escapes its words


def _hot(wall: Wall) -> list[tuple[str, str, str, str]]:
    every = sum(wall.owners.values()) or 1
    return [
        (
            printable(each.function) or "(no symbol)",
            printable(each.module.rsplit("/", 1)[-1]),
            words.OWNERS[each.owner],
            units.percent(each.samples / every),
        )
        for each in wall.hot[:_MOST_FUNCTIONS]
    ]
