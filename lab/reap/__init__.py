"""Reap, the lab: is memory allocation what holds a program back, and what would each remedy give?

Three layers, each of which imports only those before it: the foundation (base, allocators, draw, launch,
recording, workloads, experiment, verdicts, commandline), a folder for each capability, and what puts them
together (run, report, study, cli). The contracts in pyproject.toml hold the order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from reap.recording.opened import OpenRecording

__version__ = "0.1.0"


def open(file: str | os.PathLike[str]) -> OpenRecording:  # noqa: A001 - read as reap.open
    """Read a recording that `reap record` made: its stacks and events as columns.

    Raises reap.base.errors.ReapError where it cannot be read. Nothing is imported before the call: measured
    programs import `reap.mark`.
    """
    from pathlib import Path

    from reap.recording.opened import OpenRecording

    return OpenRecording(Path(file))
