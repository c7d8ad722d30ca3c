"""Bytes in use over allocation, those needed under them, and whose the difference is: one SVG."""

from collections.abc import Sequence
from dataclasses import dataclass

from reap.api import DragLevel, shortened, units
from reap_studies.study.drawing import svg

_LEFT, _WIDTH, _TOP, _HEIGHT, _ROW, _SWATCH = 70, 560, 26, 200, 16, 26
_OPACITIES = (0.9, 0.7, 0.55)
"""So that no meaning hangs on the colour alone."""


@dataclass(frozen=True)
class _Layer:
    """Layer of a chart, which lies on those before it."""

    label: str
    look: str
    heights: Sequence[float]
    """In bytes, means of each stretch."""


def draw(title: str, level: DragLevel) -> str:
    """Layers, from below: what was needed; what those sites dragged that drag most; what the others did.

    Means in each stretch; a line has the most in use, whose top is the peak. Empty without allocations.
    """
    if not level.curve or not level.peak:
        return ""
    needed = _Layer(
        f"needed: at most {units.size(level.needed_peak)}",
        f'fill="{svg.COLOURS[0]}" fill-opacity="0.35"',
        [point.needed for point in level.curve],
    )
    most = [point.most_live for point in level.curve]
    said = f"most in use; {units.size(level.peak)} at its peak"
    return _chart(title, level.total.bytes, [needed, *_dragged(level)], level.peak, said, most)


def _dragged(level: DragLevel) -> list[_Layer]:
    """Layers of the sites that drag most, one each, and one of the others together."""
    drawn = [(site, site.dragged) for site in level.sites if site.dragged is not None][: len(_OPACITIES)]
    layers = [
        _Layer(
            f"dragged: {shortened(site.function, 48)} ({units.percent(site.share)} of it)",
            f'fill="{svg.COLOURS[number]}" fill-opacity="{_OPACITIES[number - 1]}"',
            dragged,
        )
        for number, (site, dragged) in enumerate(drawn, 1)
    ]
    # Sums of doubles: what is left may be a little below nothing.
    whole = [point.live - point.needed for point in level.curve]
    shares = [sum(parts) for parts in zip(*(dragged for _, dragged in drawn), strict=True)]
    others = [
        max(0.0, all_of - share) for all_of, share in zip(whole, shares or [0.0] * len(whole), strict=True)
    ]
    rest = 1 - sum(site.share for site, _ in drawn)
    if any(others) and rest > 0.0005:
        label = f"dragged: all others ({units.percent(rest)} of it)"
        layers.append(_Layer(label, 'fill="currentColor" fill-opacity="0.38"', others))
    return layers


def _chart(
    title: str,
    total: int,
    layers: Sequence[_Layer],
    top: float,
    said: str,
    most: Sequence[float],
) -> str:
    """The layers on each other, on a scale up to `top`, and a line over them that has words of its own."""
    bottom = _TOP + _HEIGHT
    rows = len(layers) + 1
    allocated = f"{units.size(total)} allocated"
    drawn = [
        *svg.begin(_LEFT + _WIDTH + 20, bottom + 24 + _ROW * rows + 4, title),
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" stroke="currentColor" fill="none"/>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">{svg.text(allocated)}</text>',
    ]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _HEIGHT
        scale = units.size(share * top)
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{svg.text(scale)}</text>')
    below = [0.0] * len(layers[0].heights)
    for number, layer in enumerate(layers):
        above = [low + high for low, high in zip(below, layer.heights, strict=True)]
        y = bottom + 24 + _ROW * number
        drawn += [
            f'<path d="{_outline(above, below, top)}" {layer.look}/>',
            f'<rect x="{_LEFT}" y="{y}" width="{_SWATCH}" height="10" {layer.look}/>',
            f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 10}">{svg.text(layer.label)}</text>',
        ]
        below = above
    y = bottom + 24 + _ROW * len(layers)
    look = 'stroke="currentColor" stroke-width="1" fill="none"'
    drawn += [
        f'<path d="M{"L".join(_steps(most, top))}" {look}/>',
        f'<path d="M{_LEFT} {y + 5}h{_SWATCH}" {look}/>',
        f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 10}">{svg.text(said)}</text>',
    ]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _outline(above: Sequence[float], below: Sequence[float], top: float) -> str:
    return f"M{'L'.join([*_steps(above, top), *reversed(_steps(below, top))])}Z"


def _steps(heights: Sequence[float], top: float) -> list[str]:
    """Each stretch as a level piece, from left to right."""
    width = _WIDTH / len(heights)
    bottom = _TOP + _HEIGHT
    points = []
    for number, height in enumerate(heights):
        y = bottom - min(1.0, height / top) * _HEIGHT
        points += [f"{_LEFT + number * width:.1f} {y:.1f}", f"{_LEFT + (number + 1) * width:.1f} {y:.1f}"]
    return points
