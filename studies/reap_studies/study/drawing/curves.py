"""Curves over work, of bytes or another quantity."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from matplotlib.ticker import FuncFormatter, MaxNLocator

from reap.api import printable, units
from reap_studies.study.drawing.canvas import COLOURS, as_svg, canvas, in_bytes, legend_below

_HEIGHT, _ROW = 2.6, 0.17
"""Of the axes with title, and of a line of the legend, in inches."""
_DASHES = (":", "-", "--", "-.")
"""So that no meaning hangs on the colour alone."""


@dataclass(frozen=True)
class Line:
    """One curve."""

    label: str
    points: Sequence[tuple[float, float]]
    """Work and quantity, in order of the work; not empty."""
    shade: int
    """Which of the four colours and dashes."""


def draw(
    title: str,
    work: str,
    lines: Sequence[Line],
    *,
    say: Callable[[float], str] = units.size,
    ticks: Sequence[tuple[float, str]] = (),
) -> str:
    """Curves from 0 on linear scales; `work` is what the axis counts. Below them the last value of each.

    `say` puts a quantity into words; `ticks` are places on the axis and their names, in the place of counts.
    """
    with canvas(title, _HEIGHT + _ROW * len(lines)) as axes:
        for line in lines:
            shade = line.shade % len(COLOURS)
            label = printable(f"{line.label}: {say(line.points[-1][1])} at the end")
            work_done, quantities = zip(*line.points, strict=True)
            axes.plot(work_done, quantities, _DASHES[shade], color=COLOURS[shade], linewidth=1.3, label=label)
        axes.set_xlim(0)
        axes.set_ylim(0)
        axes.set_xlabel(printable(work))
        if ticks:
            axes.set_xticks([place for place, _ in ticks], [printable(name) for _, name in ticks])
        else:
            axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: units.count(value)))
        if say is units.size:
            in_bytes(axes.yaxis, max(value for line in lines for _, value in line.points))
        else:
            axes.yaxis.set_major_locator(MaxNLocator(4))
            axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: printable(say(value))))
        legend_below(axes)
        return as_svg(axes)
