"""Drag as one HTML page that needs nothing else and runs nothing."""

import shlex
from pathlib import Path

from reap.base.files import write_safely
from reap.base.text import shortened
from reap.drag.exact import view
from reap.drag.exact.records import DragProfile
from reap.draw import html

_LONGEST = 4000
"""Characters of a command: an argument can be a whole program."""


def write(profile: DragProfile, path: Path | str, *, force: bool = False) -> Path:
    """Write the page to `path` and return the path. Raises ReapError as `write_safely` does."""
    return write_safely(path, render(profile).encode(), force=force)


def render(profile: DragProfile) -> str:
    """The page: for each process its table, its curves and its sites."""
    command = shortened(shlex.join(profile.command), _LONGEST)
    return html.page("drag.html.j2", command=command, drag=view.view(profile))
