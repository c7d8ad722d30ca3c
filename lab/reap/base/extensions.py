"""Entry points by which other packages add to reap, found without importing `importlib.metadata`.

That import alone takes a third of the time in which `reap --help` answers.
"""

import functools
import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

COMMANDS = "reap.commands"
"""The group of tables of commands: each a mapping from a command's name to its module and its help line."""
PROGRAMS = "reap.programs"
"""The group of functions that make a program by its name: see `reap.base.programs.Make`."""


@functools.cache
def found(group: str) -> dict[str, str]:
    """The entry points of a group in the installed distributions, by name: `module:attribute`."""
    points: dict[str, str] = {}
    for folder in sys.path:
        for file in sorted(Path(folder or ".").glob("*.dist-info/entry_points.txt")):
            for name, value in _section(file.read_text(encoding="utf-8", errors="replace"), group):
                points.setdefault(name, value)
    return points


def _section(text: str, group: str) -> Iterator[tuple[str, str]]:
    _, _, rest = f"\n{text}".partition(f"\n[{group}]\n")
    for line in rest.partition("\n[")[0].splitlines():
        name, equals, value = line.partition("=")
        if equals:
            yield name.strip(), value.strip()


def load(value: str) -> Any:  # noqa: ANN401 - whatever the entry point names
    """The object or the module of an entry point. Throws what its import throws, and AttributeError."""
    module, _, attribute = value.partition(":")
    found = importlib.import_module(module)
    return getattr(found, attribute) if attribute else found
