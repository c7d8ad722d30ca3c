"""What the figures share: a canvas with axes, colours, and SVG that fits a page of either theme."""

import io
import math
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MultipleLocator

from reap.api import printable, units

COLOURS = ("#777d88", "#0068ac", "#c04e00", "#7a4fa3")
"""Grey, blue, orange, violet: the page's."""
INK = "#010203"
"""Colour of text and axes, which nothing else has: SVG says `currentColor` in its place."""
_UNSIGNED = {"Date": None, "Creator": None}
WIDTH = 7.6
"""Of a figure in inches."""
_LOOK: dict[Any, Any] = {
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
    "axes.titlesize": 9.5,
    "font.family": "sans-serif",
    "font.size": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",  # text stays text: it can be read aloud, found and copied
    "svg.hashsalt": "reap",  # the same figure is the same file
    "text.color": INK,
    "text.parse_math": False,  # names of functions may hold dollars
    "xtick.color": INK,
    "ytick.color": INK,
}


@contextmanager
def canvas(title: str, height: float) -> Iterator[Axes]:
    """Empty axes in the studies' look; `as_svg` is to be called within."""
    with rc_context(_LOOK):
        axes = Figure(figsize=(WIDTH, height), layout="constrained").subplots()
        axes.set_title(printable(title))
        yield axes


def in_bytes(axis: Axis, most: float) -> None:
    """An axis of bytes up to `most`: three to five ticks, at multiples of a power of two."""
    axis.set_major_locator(MultipleLocator(2.0 ** math.floor(math.log2(max(most, 4) / 3))))
    axis.set_major_formatter(FuncFormatter(lambda value, _: units.size(value)))


def legend_below(axes: Axes) -> None:
    """What each line and layer is, a row each; the height of the canvas is to have room for them."""
    _figure(axes).legend(loc="outside lower left")


def as_svg(axes: Axes) -> str:
    """The figure, without a background: one element, in which no word is markup."""
    written = io.StringIO()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # the reader's font has it, or a box
        _figure(axes).savefig(written, format="svg", transparent=True, metadata=_UNSIGNED)
    text = written.getvalue()
    text = text[text.index("<svg ") :].replace(INK, "currentColor")
    text = re.sub(r' id="[\w.]+_\d+"', "", text)  # of groups: every figure of a page would have the same
    begin, rest = text.split(">", 1)
    begin = re.sub(r' (?:width|height)="[^"]*"', "", begin)  # as wide as the page has room
    return f'{begin} role="img"><title>{escape(axes.get_title(loc="left"))}</title>{rest}'


def _figure(axes: Axes) -> Figure:
    figure = axes.get_figure(root=True)
    assert figure is not None  # noqa: S101 - canvas made it
    return figure
