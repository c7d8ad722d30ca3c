"""The engine that samples objects: a preloaded library."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from reap.drag.engine import Say
from reap.drag.exact.launch import unseen
from reap.drag.sample import run as sampling
from reap.drag.sample.analyse import profile
from reap.drag.sample.read import frames, read
from reap.drag.sample.records import SampledDrag
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class Sample:
    """Estimates of any program, with an overhead of a few percent."""

    period: int | None = None
    """The mean of bytes between two samples; None chooses it by the overhead."""
    slower: int = 1

    def run(self, launch: Launch, program: Program, folder: Path, say: Say) -> Outcome:  # noqa: ARG002 - the protocol's
        """Runs the program with the library preloaded. Throws ReapError."""
        return sampling.run(launch, folder, period=self.period)

    def read(self, folder: Path, program: Program, outcome: Outcome) -> SampledDrag:
        """Reads the samples of each process. Throws ReapError."""
        paths = sorted(path for path in folder.glob(sampling.FILES) if not path.is_symlink())
        files = [read(path) for path in paths]
        return profile(files, program.command, frames, status=outcome.status, notes=unseen(program))

    def page(self, seen: SampledDrag) -> str:
        """The results as an HTML page."""
        from reap.drag.sample import page

        return page.render(seen)

    def render(self, console: Console, seen: SampledDrag) -> None:
        """Prints all of the results."""
        from reap.drag.sample import terminal

        terminal.render(console, seen)

    def render_verdict(self, console: Console, seen: SampledDrag) -> None:
        """Prints what they mean, on one screen."""
        from reap.drag.sample import terminal

        terminal.render_verdict(console, seen)

    def next_command(self, command: list[str]) -> list[str]:
        """The exact engine on the same program."""
        return ["reap", "drag", "--", *command]
