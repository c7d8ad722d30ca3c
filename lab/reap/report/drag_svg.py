"""Bytes in use over allocation, those needed under them, and whose the difference is: one SVG."""

from collections.abc import Sequence

from reap import units
from reap.analysis.drag_records import DragLevel, DragSite
from reap.report import svg
from reap.report.text import shortened

_LEFT, _WIDTH, _TOP, _HEIGHT, _ROW, _SWATCH = 70, 560, 26, 200, 16, 26
_OPACITIES = (0.9, 0.7, 0.55)
"""So that no meaning hangs on the colour alone."""


def draw(title: str, level: DragLevel) -> str:
    """Layers, from below: what was needed; what those sites dragged that drag most; what the others did.

    Means in each stretch; a line has the most in use, whose top is the peak. Empty without allocations.
    """
    if not level.curve or not level.peak:
        return ""
    names, layers = _layers(level)
    bottom = _TOP + _HEIGHT
    allocated = f"{units.size(level.total.bytes)} allocated"
    drawn = [
        *svg.begin(_LEFT + _WIDTH + 20, bottom + 24 + _ROW * (len(layers) + 1) + 4, title),
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" stroke="currentColor" fill="none"/>',
        f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">{svg.text(allocated)}</text>',
    ]
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _HEIGHT
        said = units.size(share * level.peak)
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{svg.text(said)}</text>')
    below = [0.0] * len(level.curve)
    for number, (name, layer) in enumerate(zip(names, layers, strict=True)):
        above = [low + high for low, high in zip(below, layer, strict=True)]
        fill = _fill(number, len(layers))
        y = bottom + 24 + _ROW * number
        drawn += [
            f'<path d="{_outline(above, below, level.peak)}" {fill}/>',
            f'<rect x="{_LEFT}" y="{y}" width="{_SWATCH}" height="10" {fill}/>',
            f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 10}">{svg.text(name)}</text>',
        ]
        below = above
    y = bottom + 24 + _ROW * len(layers)
    said = f"most in use; {units.size(level.peak)} at its peak"
    most = _steps([point.most_live for point in level.curve], level.peak)
    line = 'stroke="currentColor" stroke-width="1" fill="none"'
    drawn += [
        f'<path d="M{"L".join(most)}" {line}/>',
        f'<path d="M{_LEFT} {y + 5}h{_SWATCH}" {line}/>',
        f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 10}">{svg.text(said)}</text>',
    ]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _layers(level: DragLevel) -> tuple[list[str], list[list[float]]]:
    drawn: list[tuple[DragSite, list[float]]] = [
        (site, site.dragged) for site in level.sites if site.dragged is not None
    ][: len(_OPACITIES)]
    needed = [point.needed for point in level.curve]
    shares = [sum(parts) for parts in zip(*(dragged for _, dragged in drawn), strict=True)]
    shares = shares or [0.0] * len(needed)
    # Sums of doubles: what is left may be a little below nothing.
    others = [max(0.0, p.live - p.needed - share) for p, share in zip(level.curve, shares, strict=True)]
    names = [f"needed: at most {units.size(level.needed_peak)}"]
    names += [
        f"dragged: {shortened(site.function, 48)} ({units.percent(site.share)} of it)" for site, _ in drawn
    ]
    layers = [needed, *(dragged for _, dragged in drawn)]
    rest = 1 - sum(site.share for site, _ in drawn)
    if any(others) and rest > 0.0005:
        names.append(f"dragged: all others ({units.percent(rest)} of it)")
        layers.append(others)
    return names, layers


def _fill(number: int, layers: int) -> str:
    if number == 0:
        return f'fill="{svg.COLOURS[0]}" fill-opacity="0.35"'
    if number > len(_OPACITIES) or number >= layers:
        return 'fill="currentColor" fill-opacity="0.15"'
    return f'fill="{svg.COLOURS[number]}" fill-opacity="{_OPACITIES[number - 1]}"'


def _outline(above: Sequence[float], below: Sequence[float], peak: int) -> str:
    return f"M{'L'.join([*_steps(above, peak), *reversed(_steps(below, peak))])}Z"


def _steps(heights: Sequence[float], peak: int) -> list[str]:
    """Each stretch as a level piece, from left to right."""
    width = _WIDTH / len(heights)
    bottom = _TOP + _HEIGHT
    points = []
    for number, height in enumerate(heights):
        y = bottom - min(1.0, height / peak) * _HEIGHT
        points += [f"{_LEFT + number * width:.1f} {y:.1f}", f"{_LEFT + (number + 1) * width:.1f} {y:.1f}"]
    return points
