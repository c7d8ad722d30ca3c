"""Collapsed stacks, as flamegraph.pl, inferno and speedscope read them: `outermost;...;innermost COUNT`."""

from reap.base.text import printable
from reap.recording.analyse.calls import Calls, Measure, by_function


def render(tree: Calls, measure: Measure) -> str:
    """A line for each stack of functions that has any of the measure, in whole numbers."""
    functions = by_function(tree)
    labels = [_label(place.function) for place in functions.places]
    lines: dict[str, float] = {}
    for path, value in functions.stacks(measure):
        stack = ";".join(labels[place] for place in path)
        lines[stack] = lines.get(stack, 0.0) + value
    return "".join(f"{stack} {round(value)}\n" for stack, value in sorted(lines.items()) if round(value) > 0)


def _label(function: str) -> str:
    """A semicolon would end the frame, a line break the stack."""
    return printable(function).replace(";", ":").strip() or "unknown"
