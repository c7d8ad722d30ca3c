"""Data that the figures of a page are drawn from: memory over time by owner, and with each remedy tried."""

from reap.base import units
from reap.base.records import Record
from reap.draw.figure import Figure
from reap.launch.process import settled
from reap.rss.analyse import thinned
from reap.rss.records import NAMES, Residence
from reap.rss.trials import words
from reap.rss.trials.records import Trials, Tried, Trim

_LOWEST = (
    "files",
    "written",
    "shared",
    "stack",
    "data",
    "other",
    "named",
    "jvm",
    "java",
    "v8",
    "python",
    "php",
    "beam",
    "go_runtime",
    "go",
    "live",
    "heap",
    "inside",
    "cached",
)
"""What cannot be returned to the OS lies below what can."""


class Owned(Record):
    """One area: a field of `Parts`, its name, and its bytes at each moment."""

    part: str
    name: str
    bytes: list[int]


class Owners(Record):
    """The areas of a process, the lowest first; those without a byte are left out. Times in seconds."""

    whole: str
    """What they add up to."""
    seconds: list[float]
    owners: list[Owned]
    most: int
    """The top of the scale."""
    longest: float
    """The end of the scale of time."""
    settled: int | None = None
    half: float = 0.0
    """When the time begins of which memory is settled."""
    trim: Trim | None = None


class Side(Record):
    """One curve of a small chart, seconds and bytes, and settled memory."""

    curve: list[tuple[float, int]]
    settled: float | None


class Remedied(Record):
    """A small chart: memory with a remedy beside that of the program as it is, or that alone."""

    name: str
    """Empty of the program as it is."""
    side: Side
    base: Side
    most: float
    longest: float
    trim: Trim | None = None


def owners(residence: Residence, points: int, *beside: Residence, trim: Trim | None = None) -> Owners:
    """The areas of at most so many moments, on the scale of `beside`, with which it is to be compared."""
    moments = thinned(residence.moments, points)
    begin, end = moments[0].seconds, moments[-1].seconds
    order = [*_LOWEST, *(name for name in NAMES if name not in _LOWEST)]
    every = [residence, *beside]
    return Owners(
        whole=whole(residence),
        seconds=[round(each.seconds, 4) for each in moments],
        owners=[
            Owned(part=name, name=NAMES[name], bytes=sizes)
            for name in order
            if any(sizes := [getattr(each.parts, name) for each in moments])
        ],
        settled=residence.settled.resident,
        half=begin + settled.FROM * (end - begin),
        most=max(each.largest.resident for each in every),
        longest=max(each.last.seconds for each in every),
        trim=trim,
    )


def owners_figure(residence: Residence, *, trimmed: bool = False) -> Figure:
    """The words of the areas."""
    largest = residence.largest
    trims = " Vertical lines: calls of malloc_trim." if trimmed else ""
    return Figure(
        "owners",
        "Memory over time (PSS)" if residence.processes > 1 else "Resident memory over time",
        f"What can be returned to the OS lies above the rest. Dashed: settled memory.{trims}",
        f"at most {units.size(largest.resident)} after {units.duration(largest.seconds)}, "
        f"{units.size(residence.settled.resident)} settled",
        wide=True,
    )


def whole(residence: Residence) -> str:
    """Name of what the parts add up to."""
    return "PSS" if residence.processes > 1 else "resident"


def multiples(trials: Trials) -> list[tuple[Figure, Remedied]]:
    """A small chart of the program as it is and of each remedy that was tried, all of one scale."""
    curves = [trials.curve, *(each.curve for each in trials.tried)]
    most = max((float(size) for curve in curves for _, size in curve), default=0.0)
    longest = max((curve[-1][0] for curve in curves if curve), default=0.0)
    base = Side(curve=trials.curve, settled=trials.baseline)

    def chart(name: str, side: Side, trim: Trim | None = None) -> Remedied:
        return Remedied(name=name, side=side, base=base, most=most, longest=longest, trim=trim)

    level = f"{units.size(trials.baseline)} settled"
    return [
        (Figure("remedy", words.AS_IT_IS, level, level), chart("", base)),
        *(
            (_figure(each), chart(each.change.name, Side(curve=each.curve, settled=each.settled), each.trim))
            for each in trials.tried
        ),
    ]


def _figure(tried: Tried) -> Figure:
    lines = words.caption(tried)
    return Figure("remedy", tried.change.name, "\n".join(lines), ", ".join(lines))
