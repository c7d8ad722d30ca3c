"""Page of the wall, as plain strings: figures are formatted here, the template places them."""

from dataclasses import dataclass

from reap.base import units
from reap.base.text import printable
from reap.evidence.records import Wall
from reap.wall import words

_COLOURS = {"allocator": "blue", "lock": "orange", "collector": "orange", "other": "grey"}
"""As in the flame graph; what is not here is the kernel's."""
_KERNEL = "violet"
_MOST_FUNCTIONS = 15


@dataclass(frozen=True)
class WallView:
    """One program at the wall."""

    tiles: list[tuple[str, str, str]]
    owners: list[tuple[str, str, str, str, str]]
    """Who was executing: words, colour, part of the samples for a style, part in words, samples."""
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


def _owners(wall: Wall) -> list[tuple[str, str, str, str, str]]:
    return [
        (label, _COLOURS.get(name, _KERNEL), f"{part:.4f}", units.percent(part), units.whole(count))
        for name, label, part, count in words.owners(wall)
    ]


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
