"""Interface of the engines of `reap drag`, so that its callers need not know which one it is."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from reap.base.files import folder_for_programs
from reap.launch.program import Program, require_preloadable
from reap.launch.records import Launch, Outcome

if TYPE_CHECKING:
    from rich.console import Console

Say = Callable[[str], None]
Seen = TypeVar("Seen")
"""The results of an engine, a record."""


class Engine(Protocol[Seen]):
    """Runs a program and says what it dragged."""

    @property
    def slower(self) -> int:
        """Factor by which a program's timeout is multiplied under this engine."""

    def run(self, launch: Launch, program: Program, folder: Path, say: Say) -> Outcome:
        """Runs the program once; what the engine records is in `folder`, which must exist and be empty.

        `say` is told of what takes time before that. Throws ReapError.
        """

    def read(self, folder: Path, program: Program, outcome: Outcome) -> Seen:
        """Reads the recordings in `folder`. Throws ReapError."""

    def page(self, seen: Seen) -> str:
        """The results as an HTML page."""

    def render(self, console: Console, seen: Seen) -> None:
        """Prints all of the results."""

    def render_verdict(self, console: Console, seen: Seen) -> None:
        """Prints what they mean, on one screen."""

    def next_command(self, command: list[str]) -> list[str]:
        """Command that shows more of the same program."""


def measure(engine: Engine[Seen], launch: Launch, program: Program, say: Say) -> tuple[Seen, Outcome]:
    """Runs the program once under the engine. Throws ReapError."""
    require_preloadable(program)
    with folder_for_programs("reap-drag-") as folder:
        outcome = engine.run(launch, program, folder, say)
        return engine.read(folder, program, outcome), outcome
