"""Ratios with their intervals as a bar chart."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from reap.api import Estimate, printable, shortened, units
from reap_studies.study.drawing.canvas import COLOURS, INK, as_svg, canvas

_MOST = 20.0
"""Longer bars are cut; their value stands beside them."""
_ROW, _GAP, _AROUND = 0.19, 0.5, 0.75
"""Height of a bar in inches; what separates groups, in bars; what title and axis take, in inches."""
_LONGEST = 60
"""Letters of a label."""
_BESIDE = 1.35
"""How far the axis goes, in longest bars, so that values have room beside them."""


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
    """Horizontal bars in named groups from 0, a line at 1, whiskers for the intervals, values in words.

    Without `unit_line` lengths are no ratios: there is no scale, and values are those beside the bars.
    """
    bars = [bar for _, group in groups for bar in group]
    ends = [bar.ratio.high for bar in bars if bar.ratio and math.isfinite(bar.ratio.high)]
    most = max(min(max(ends, default=1.0), _MOST), 1.2)
    places = _places(groups)
    with canvas(title, _AROUND + _ROW * (places[-1] + 1 if places else 1)) as axes:
        for place, bar in zip(places, bars, strict=True):
            _bar(axes, place, bar, most)
        labels = [_label(name, bar, number) for name, group in groups for number, bar in enumerate(group)]
        axes.set_yticks(places, labels)
        axes.tick_params(axis="y", length=0)
        axes.set_ylim(places[-1] + 0.7 if places else 1, -0.7)
        axes.set_xlim(0, most * _BESIDE)
        if unit_line:
            axes.axvline(1, color=INK, linewidth=0.8)
            axes.set_xlabel("ratio")
        else:
            axes.set_xticks([])
            axes.spines["bottom"].set_visible(False)
        return as_svg(axes)


def _places(groups: Sequence[tuple[str, Sequence[Bar]]]) -> list[float]:
    """Of all bars from above, in bars."""
    starts = [
        sum(len(before) for _, before in groups[:number]) + _GAP * number for number in range(len(groups))
    ]
    return [start + at for start, (_, group) in zip(starts, groups, strict=True) for at in range(len(group))]


def _label(name: str, bar: Bar, number: int) -> str:
    """Of a bar of a group: the first has the group's name in front."""
    return printable(shortened(f"{name} {bar.label}".strip() if number == 0 else bar.label, _LONGEST))


def _bar(axes: Axes, place: float, bar: Bar, most: float) -> None:
    if bar.ratio is None or not all(map(math.isfinite, (bar.ratio.low, bar.ratio.value, bar.ratio.high))):
        axes.annotate("not measured", (0, place), (4, 0), textcoords="offset points", va="center", alpha=0.6)
        return
    low, value, high = (min(each, most) for each in (bar.ratio.low, bar.ratio.value, bar.ratio.high))
    axes.barh(place, value, height=0.75, color=COLOURS[bar.shade % len(COLOURS)], alpha=0.85)
    exact = bar.ratio.exact
    if not exact:
        axes.errorbar(
            value,
            place,
            xerr=[[max(0, value - low)], [max(0, high - value)]],
            color=INK,
            linewidth=0.9,
            capsize=2,
        )
    said = bar.said or (units.ratio(bar.ratio.value) if exact else units.ratio_with_interval(bar.ratio))
    axes.annotate(printable(said), (high, place), (4, 0), textcoords="offset points", va="center")
