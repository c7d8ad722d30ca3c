"""Folded stacks as a flame graph, the allocator's frames coloured: one SVG that stands by itself.

What is drawn, after Brendan Gregg's flame graphs (2011): a box for a function, as wide as its samples, on
top of its caller. Nothing moves; a box says what it is when it is pointed at.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from reap.base import units
from reap.draw import svg

_WIDTH, _ROW, _TOP, _BOTTOM = 900, 17, 26, 24
_NARROWEST = 0.6
"""Boxes narrower than so many units are left out."""
_MOST_ROWS = 48
_LETTER = 6.7
_ALLOCATOR, _KERNEL = "_[a]", "_[k]"


@dataclass
class _Box:
    """A function where it was called from here."""

    samples: int = 0
    callees: "dict[str, _Box]" = field(default_factory=dict)


def draw(title: str, stacks: Iterable[str]) -> str:
    """The chart of lines `frame;frame;frame COUNT`, outermost first; empty without samples."""
    root = _Box()
    for line in stacks:
        frames, _, count = line.rpartition(" ")
        if not count.isdigit():
            continue
        _add(root, frames.split(";"), int(count))
    if root.samples == 0:
        return ""
    rows = min(_MOST_ROWS, _depth(root, _WIDTH / root.samples))
    height = _TOP + rows * _ROW + _BOTTOM
    floor = height - _BOTTOM
    lines = svg.begin(_WIDTH, height, title)
    lines += _boxes(root, root.samples, 0.0, 0, floor)
    for place, (words, colour) in enumerate(
        [("the allocator's", svg.COLOURS[2]), ("the kernel's", svg.COLOURS[3]), ("other", svg.COLOURS[0])]
    ):
        x = place * 130
        lines.append(
            f'<rect x="{x}" y="{height - 14}" width="10" height="10" fill="{colour}" opacity="0.7"/>'
            f'<text x="{x + 15}" y="{height - 5}">{words}</text>'
        )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _add(root: _Box, frames: list[str], count: int) -> None:
    root.samples += count
    at = root
    for frame in frames[:_MOST_ROWS]:
        at = at.callees.setdefault(frame, _Box())
        at.samples += count


def _depth(box: _Box, scale: float) -> int:
    """Number of rows above a box."""
    drawn = [each for each in box.callees.values() if each.samples * scale >= _NARROWEST]
    return max((1 + _depth(each, scale) for each in drawn), default=0)


def _boxes(box: _Box, every: int, left: float, row: int, floor: int) -> list[str]:
    lines: list[str] = []
    scale = _WIDTH / every
    for name, callee in sorted(box.callees.items()):
        width = callee.samples * scale
        if width >= _NARROWEST and row < _MOST_ROWS:
            y = floor - (row + 1) * _ROW
            lines += _one(name, callee, every, left, width, y)
            lines += _boxes(callee, every, left, row + 1, floor)
        left += width
    return lines


def _one(name: str, box: _Box, every: int, left: float, width: float, y: int) -> list[str]:
    colour = svg.COLOURS[2 if name.endswith(_ALLOCATOR) else 3 if name.endswith(_KERNEL) else 0]
    plain = name.removesuffix(_ALLOCATOR).removesuffix(_KERNEL)
    counted = units.samples(box.samples)
    said = f"{plain}: {units.percent(box.samples / every)} ({counted})"
    box_width = f"{max(width - 0.5, 0.1):.1f}"
    shape = f'x="{left:.1f}" y="{y}" width="{box_width}" height="{_ROW - 1}"'
    lines = [f'<g><title>{svg.text(said)}</title><rect {shape} fill="{colour}" opacity="0.7"/>']
    letters = int((width - 6) / _LETTER)
    if letters >= 3:
        shown = plain if len(plain) <= letters else f"{plain[: letters - 1]}…"
        lines.append(f'<text x="{left + 3:.1f}" y="{y + 12}">{svg.text(shown)}</text>')
    return [*lines, "</g>"]
