"""Bytes in use over allocation, those needed under them, and whose the difference is."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from reap.api import DragLevel, printable, shortened, units
from reap_studies.study.drawing.canvas import COLOURS, INK, as_svg, canvas, in_bytes, legend_below

_OPACITIES = (0.9, 0.7, 0.55)
"""So that no meaning hangs on the colour alone."""
_HEIGHT, _ROW = 3.1, 0.17
"""Of the axes with title, and of a line of the legend, in inches."""


@dataclass(frozen=True)
class Layer:
    """Layer of a chart, which lies on those before it."""

    label: str
    colour: str
    opacity: float
    heights: Sequence[float]
    """In bytes, means of each stretch."""


def draw(title: str, level: DragLevel) -> str:
    """The layers of a level, and a line with the most in use, whose top is the peak. Empty without any."""
    if not level.curve or not level.peak:
        return ""
    drawn = layers(level)
    with canvas(title, _HEIGHT + _ROW * (len(drawn) + 1)) as axes:
        edges = [number * level.total.bytes / len(level.curve) for number in range(len(level.curve) + 1)]
        tops = list(accumulate((each.heights for each in drawn), _sums))
        below: Sequence[float] | float = 0.0
        for layer, top in zip(drawn, tops, strict=True):
            axes.stairs(
                top, edges, baseline=below, fill=True, color=layer.colour, alpha=layer.opacity,
                label=printable(layer.label),
            )  # fmt: skip
            below = top
        most = [point.most_live for point in level.curve]
        label = f"most in use; {units.size(level.peak)} at its peak"
        axes.stairs(most, edges, baseline=None, color=INK, linewidth=0.8, label=label)
        axes.set_xlim(0, level.total.bytes)
        axes.set_ylim(0)
        axes.set_xlabel("allocated")
        in_bytes(axes.xaxis, level.total.bytes)
        in_bytes(axes.yaxis, level.peak)
        legend_below(axes)
        return as_svg(axes)


def layers(level: DragLevel) -> list[Layer]:
    """From below: what was needed; what those sites dragged that drag most; what the others did."""
    needed = Layer(
        f"needed: at most {units.size(level.needed_peak)}",
        COLOURS[0],
        0.35,
        [point.needed for point in level.curve],
    )
    return [needed, *_dragged(level)]


def _dragged(level: DragLevel) -> list[Layer]:
    """Layers of the sites that drag most, one each, and one of the others together."""
    drawn = [(site, site.dragged) for site in level.sites if site.dragged is not None][: len(_OPACITIES)]
    made = [
        Layer(
            f"dragged: {shortened(site.function, 48)} ({units.percent(site.share)} of it)",
            COLOURS[number],
            _OPACITIES[number - 1],
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
        made.append(Layer(f"dragged: all others ({units.percent(rest)} of it)", INK, 0.38, others))
    return made


def _sums(below: Sequence[float], heights: Sequence[float]) -> list[float]:
    return [low + high for low, high in zip(below, heights, strict=True)]
