"""Drag as one HTML page that needs nothing else."""

import shlex

from reap.base.text import shortened
from reap.drag.exact import view
from reap.drag.exact.records import DragProfile
from reap.draw import html
from reap.draw.figure import Charts

_LONGEST = 4000
"""Characters of a command: an argument can be a whole program."""


def render(profile: DragProfile) -> str:
    """The page: for each process its table, its curves and its sites."""
    command = shortened(shlex.join(profile.command), _LONGEST)
    charts = Charts()
    shown = view.view(profile, charts)
    return html.figured_page("drag/exact/page.html.j2", charts, command=command, drag=shown)
