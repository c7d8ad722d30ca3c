"""Reads the samples of a program's memory that its launcher wrote."""

from collections.abc import Sequence
from operator import itemgetter
from pathlib import Path

from reap.launch.process import settled
from reap.launch.process.settled import Interval

_POINTS = 100
"""Of a run, are kept to be drawn."""


def read(
    path: Path, wall_ns: int, turns: Sequence[Interval] = ()
) -> dict[str, int | list[tuple[float, int]] | None]:
    """The fields of `Outcome` that they give: of the whole run, or of its turns where it took turns.

    Those that are figures are None where the program ended before the first sample.
    """
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:  # the program was not executed
        lines = []
    samples = [(float(at), float(size)) for at, size in (line.split() for line in lines)]
    if turns:
        series, end = settled.in_turns(samples, turns)
    else:
        begin = samples[0][0] if samples else 0.0
        series, end = [((at - begin) / 1e9, size) for at, size in samples], wall_ns / 1e9
    found = {"settled_resident": settled.settled(series, end), "mean_resident": settled.mean(series, end)}
    kept = settled.thinned(series, _POINTS, itemgetter(1))
    return {
        **{name: None if value is None else round(value) for name, value in found.items()},
        "resident_over_time": [(round(at, 4), round(size)) for at, size in kept],
    }
