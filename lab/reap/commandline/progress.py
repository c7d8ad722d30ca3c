"""Progress on standard error: on a terminal, and only when it takes longer than a second."""

import sys
import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from reap.base.text import message

_PATIENCE = 1.0
"""Seconds without a bar."""


class Bar:
    """A progress bar that appears late, never where it would end in a file, and leaves nothing behind."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(file=sys.stderr)
        self._begun = time.monotonic()
        self._bar: Progress | None = None
        self._label = ""

    def update(self, done: float, total: float, label: str) -> None:
        """`done` of `total`; `label` says what goes on."""
        if not self._console.is_terminal:
            return
        if self._bar is None:
            if time.monotonic() - self._begun < _PATIENCE:
                return
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
                refresh_per_second=2,  # what draws must not disturb what is measured
            )
            self._bar.add_task(label, total=total)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=done, total=total, description=label)

    def say(self, text: str) -> None:
        """A line on standard error, above the bar."""
        self._console.print(message(text), markup=False, highlight=False, soft_wrap=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()
