"""Ratios with their intervals as a bar chart: one SVG that stands in a page or by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from reap.api import Estimate, units
from reap_studies.study.drawing import svg

_ROW, _GAP, _LEFT, _WIDTH, _RIGHT, _TOP = 16, 8, 190, 430, 150, 26
_LETTER = 6.0
"""About how wide a letter is, so that no label is cut."""


@dataclass(frozen=True)
class Bar:
    """One bar: a ratio with its interval, an exact value without, or why there is none."""

    label: str
    ratio: Estimate | None
    shade: int
    """Which of the four colours; the label says the same."""
    said: str = ""
    """What stands beside it, if not its value."""


def draw(title: str, groups: Sequence[tuple[str, Sequence[Bar]]], *, unit_line: bool = True) -> str:
    """Horizontal bars in named groups from 0, a line at 1, whiskers for the intervals, values in words."""
    bars = [bar for _, group in groups for bar in group]
    most = max((bar.ratio.high for bar in bars if bar.ratio), default=1.0)
    scale = _WIDTH / max(min(most, 20.0), 1.2)
    labels = [_label(name, bar, number) for name, group in groups for number, bar in enumerate(group)]
    left = max([_LEFT, *(round(_LETTER * len(label)) + 10 for label in labels)])
    height = _TOP + sum(_ROW * len(group) + _GAP for _, group in groups) + 6
    width = left + _WIDTH + _RIGHT
    lines = svg.begin(width, height, title)
    y = _TOP
    for name, group in groups:
        for number, bar in enumerate(group):
            label = _label(name, bar, number)
            lines.append(f'<text x="{left - 6}" y="{y + 12}" text-anchor="end">{svg.text(label)}</text>')
            lines += _bar(bar, left, y, scale)
            y += _ROW
        y += _GAP
    one = left + scale if unit_line else left
    lines.append(f'<line x1="{one:.1f}" y1="{_TOP - 4}" x2="{one:.1f}" y2="{y}" stroke="currentColor"/>')
    return "\n".join([*lines, "</svg>"]) + "\n"


def _label(name: str, bar: Bar, number: int) -> str:
    """Of a bar of a group: the first has the group's name in front."""
    return f"{name} {bar.label}".strip() if number == 0 else bar.label


def _bar(bar: Bar, left: int, y: int, scale: float) -> list[str]:
    if bar.ratio is None:
        return [f'<text x="{left + 4}" y="{y + 12}" opacity="0.6">not measured</text>']
    low, value, high = (
        left + min(each * scale, _WIDTH) for each in (bar.ratio.low, bar.ratio.value, bar.ratio.high)
    )
    middle = y + _ROW / 2
    shape = f'x="{left}" y="{y + 2}" width="{value - left:.1f}" height="{_ROW - 4}"'
    whisker = f"M{low:.1f} {middle}H{high:.1f}M{low:.1f} {y + 5}V{y + 11}M{high:.1f} {y + 5}V{y + 11}"
    exact = bar.ratio.exact
    said = bar.said or (units.ratio(bar.ratio.value) if exact else units.ratio_with_interval(bar.ratio))
    drawn = [] if exact else [f'<path d="{whisker}" stroke="currentColor" fill="none"/>']
    return [
        f'<rect {shape} fill="{svg.COLOURS[bar.shade % len(svg.COLOURS)]}" opacity="0.85"/>',
        *drawn,
        f'<text x="{high + 6:.1f}" y="{y + 12}">{svg.text(said)}</text>',
    ]
