"""Ratios of rows and columns as a heat map: one SVG that stands in a page or by itself."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reap.base import units
from reap.base.text import shortened
from reap.draw import svg

_HEIGHT, _WIDTH, _TOP, _LETTER = 26, 92, 50, 6.0
_LONGEST = 60
_STRONGEST = math.log(1.5)
"""The logarithm of a ratio from which on a colour is at its strongest."""


@dataclass(frozen=True)
class Square:
    """One square: a ratio, whether it is proven to differ from 1, and the whole of it in words."""

    ratio: float
    proven: bool
    said: str


def draw(
    title: str, rows: Sequence[str], columns: Sequence[str], squares: Mapping[tuple[str, str], Square]
) -> str:
    """Less than 1 in blue, more in orange, as much as it is; what is not proven stays pale and has a tilde.

    The figure is in each square, so nothing is said by colour alone.
    """
    labels = {row: shortened(row, _LONGEST) for row in rows}
    left = round(_LETTER * max(map(len, labels.values()), default=0)) + 12
    wide = max(_WIDTH, *(round(_LETTER * len(shortened(each, _LONGEST))) + 12 for each in columns), 0)
    lines = svg.begin(left + wide * len(columns) + 4, _TOP + _HEIGHT * len(rows) + 6, title)
    for number, column in enumerate(columns):
        x = left + wide * number + wide / 2
        words = svg.text(shortened(column, _LONGEST))
        lines.append(f'<text x="{x:.0f}" y="{_TOP - 8}" text-anchor="middle">{words}</text>')
    for at, row in enumerate(rows):
        y = _TOP + _HEIGHT * at
        lines.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{svg.text(labels[row])}</text>')
        for number, column in enumerate(columns):
            lines += _square(squares.get((row, column)), left + wide * number, y, wide)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _square(square: Square | None, x: int, y: int, wide: int) -> list[str]:
    middle = f'x="{x + wide / 2:.0f}" y="{y + 17}" text-anchor="middle"'
    if square is None:
        return [f'<text {middle} opacity="0.6">no data</text>']
    strength = min(1.0, abs(math.log(square.ratio)) / _STRONGEST)
    opacity = 0.15 + 0.6 * strength if square.proven else 0.08
    colour = svg.COLOURS[1 if square.ratio < 1 else 2]
    shape = f'x="{x + 1}" y="{y + 1}" width="{wide - 2}" height="{_HEIGHT - 2}"'
    figure = f"{'' if square.proven else '~'}{units.ratio(square.ratio)}"
    weight = ' font-weight="600"' if square.proven else ""
    return [
        "<g>",
        f"<title>{svg.text(square.said)}</title>",
        f'<rect {shape} fill="{colour}" opacity="{opacity:.2f}"/>',
        f"<text {middle}{weight}>{figure}</text>",
        "</g>",
    ]
