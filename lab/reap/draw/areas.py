"""Bytes over time as areas that lie on each other: one SVG that stands in a page or by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from reap.base import units
from reap.draw import svg

_LEFT, _WIDTH, _TOP, _HEIGHT, _ROW, _SWATCH = 70, 560, 26, 200, 16, 12


@dataclass(frozen=True)
class Area:
    """One layer."""

    label: str
    values: Sequence[float]
    """As many as there are times."""
    shade: int
    """Which of the twelve looks: the same part looks the same in every drawing."""


def draw(title: str, times: Sequence[float], areas: Sequence[Area]) -> str:
    """The first area lies lowest. Below them what each is at the end; those without a byte are left out.

    `times` in seconds, in order, not empty.
    """
    shown = [area for area in areas if any(area.values)]
    totals = [sum(area.values[at] for area in areas) for at in range(len(times))]
    most, begin = max(*totals, 1.0), times[0]
    long = max(times[-1] - begin, 1e-9)
    bottom = _TOP + _HEIGHT

    def point(at: int, value: float) -> str:
        x = _LEFT + (times[at] - begin) / long * _WIDTH
        return f"{x:.1f} {bottom - value / most * _HEIGHT:.1f}"

    drawn = svg.begin(_LEFT + _WIDTH + 20, bottom + 24 + _ROW * len(shown) + 4, title)
    below = [0.0] * len(times)
    layers: list[str] = []
    for number, area in enumerate(shown):
        above = [low + value for low, value in zip(below, area.values, strict=True)]
        edge = [point(at, above[at]) for at in range(len(times))]
        back = [point(at, below[at]) for at in reversed(range(len(times)))]
        look = _look(area.shade)
        layers.append(f'<path d="M{"L".join([*edge, *back])}Z" {look}/>')
        y = bottom + 24 + _ROW * (len(shown) - 1 - number)  # as they lie on each other
        said = svg.text(f"{area.label}: {units.size(area.values[-1])} at the end")
        layers += [
            f'<rect x="{_LEFT}" y="{y}" width="{_SWATCH}" height="{_SWATCH}" {look}/>',
            f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 10}">{said}</text>',
        ]
        below = above
    for share in (0.0, 0.5, 1.0):
        height = bottom - share * _HEIGHT
        said = units.size(share * most)
        drawn.append(f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{svg.text(said)}</text>')
    time = svg.text(units.duration(long))
    drawn += [
        *layers,
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" stroke="currentColor" fill="none"/>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">{time}</text>',
    ]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _look(shade: int) -> str:
    """Four colours, and lighter and lighter ones of them, with an edge, so that neighbours differ."""
    colour = svg.COLOURS[(shade + 1) % len(svg.COLOURS)]
    opacity = (0.85, 0.5, 0.25)[shade // len(svg.COLOURS) % 3]
    return f'fill="{colour}" fill-opacity="{opacity}" stroke="{colour}" stroke-width="0.6"'
