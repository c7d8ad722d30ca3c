"""Curves over work, of bytes or another quantity: one SVG that stands in a page or by itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from reap.api import units
from reap_studies.study.drawing import svg

_LEFT, _WIDTH, _TOP, _HEIGHT, _ROW, _SWATCH = 70, 560, 26, 150, 16, 26
_DASHES = ("2 3", "", "7 3", "10 3 2 3")
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

    `say` puts a quantity into words; `ticks` are places on the axis and their names, in the place of its end.
    """
    most = max(max(value for _, value in line.points) for line in lines)
    longest = max(line.points[-1][0] for line in lines)
    all_work = f"{units.count(longest)} {work}"
    bottom = _TOP + _HEIGHT
    legend = bottom + (24 if not ticks else 24 + _ROW)
    height = legend + _ROW * len(lines) + 4
    drawn = [
        *svg.begin(_LEFT + _WIDTH + 20, height, title),
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{_LEFT + _WIDTH}" stroke="currentColor" fill="none"/>',
    ]
    for place, name in ticks or [(longest, all_work)]:
        x = _LEFT + place / longest * _WIDTH
        anchor = "end" if place == longest else "middle"
        drawn.append(f'<text x="{x:.1f}" y="{bottom + 14}" text-anchor="{anchor}">{svg.text(name)}</text>')
    if ticks:
        below = f'x="{_LEFT + _WIDTH}" y="{bottom + 14 + _ROW}"'
        drawn.append(f'<text {below} text-anchor="end">{svg.text(work)}</text>')
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _HEIGHT
        said = say(share * most)
        drawn.append(f'<text x="{_LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{svg.text(said)}</text>')
    for number, line in enumerate(lines):
        steps = (
            f"{_LEFT + x / longest * _WIDTH:.1f} {bottom - y / most * _HEIGHT:.1f}" for x, y in line.points
        )
        y = legend + _ROW * number
        last = f"{line.label}: {say(line.points[-1][1])} at the end"
        drawn += [
            f'<path d="M{"L".join(steps)}" {_stroke(line)}/>',
            f'<path d="M{_LEFT} {y + 8}h{_SWATCH}" {_stroke(line)}/>',
            f'<text x="{_LEFT + _SWATCH + 6}" y="{y + 12}">{svg.text(last)}</text>',
        ]
    return "\n".join([*drawn, "</svg>"]) + "\n"


def _stroke(line: Line) -> str:
    dash = _DASHES[line.shade % len(_DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'stroke="{svg.COLOURS[line.shade % len(svg.COLOURS)]}" stroke-width="1.6"{dashed} fill="none"'
