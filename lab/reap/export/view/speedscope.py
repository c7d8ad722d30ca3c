"""The file format of speedscope, a profile for each measure. `_SCHEMA` describes it."""

from collections.abc import Sequence

import msgspec

from reap import __version__
from reap.base.text import printable
from reap.recording.analyse.calls import UNITS, Calls, Measure, several_processes

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def render(tree: Calls, measures: Sequence[Measure], name: str) -> bytes:
    """One file of sampled profiles, whose weights are totals of stacks. The first measure is shown first."""
    bare = not several_processes(tree)
    frames: list[dict[str, str | int]] = []
    known: dict[tuple[str, str, int], int] = {}
    of_place = []
    for place in tree.places:
        key = (printable(place.function), printable(place.file), place.line)
        if key not in known:
            known[key] = len(frames)
            frames.append(_frame(*key))
        of_place.append(known[key])
    profiles = []
    for measure in measures:
        samples, weights = [], []
        for path, value in tree.stacks(measure):
            if round(value) == 0:
                continue
            samples.append([of_place[each] for each in (path[1:] if bare else path)])
            weights.append(round(value))
        profiles.append(
            {
                "type": "sampled",
                "name": measure,
                "unit": "bytes" if UNITS[measure] == "bytes" else "none",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": samples,
                "weights": weights,
            }
        )
    return msgspec.json.encode(
        {
            "$schema": _SCHEMA,
            "exporter": f"reap {__version__}",
            "name": printable(name),
            "activeProfileIndex": 0,
            "shared": {"frames": frames},
            "profiles": profiles,
        }
    )


def _frame(function: str, file: str, line: int) -> dict[str, str | int]:
    frame: dict[str, str | int] = {"name": function}
    if file:
        frame["file"] = file
    if file and line > 0:
        frame["line"] = line
    return frame
