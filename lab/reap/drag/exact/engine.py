"""The two engines that see every access: Valgrind's tool, and programs compiled by reap-drag-cc."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from reap.drag.engine import Say
from reap.drag.exact import launch as drag
from reap.drag.exact import recompiled, valgrind
from reap.drag.exact.analyse import profile
from reap.drag.exact.read import read_all, reading
from reap.drag.exact.records import DragProfile
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome

if TYPE_CHECKING:
    from rich.console import Console

DEPTH = 12
"""Frames of the stack that tell where an object comes from."""


class _SeesAccesses:
    """Reports that both engines make of their recordings."""

    def page(self, seen: DragProfile) -> str:
        """The results as an HTML page."""
        from reap.drag.exact import page

        return page.render(seen)

    def render(self, console: Console, seen: DragProfile) -> None:
        """Prints all of the results."""
        from reap.drag.exact import terminal

        terminal.render(console, seen)

    def render_verdict(self, console: Console, seen: DragProfile) -> None:
        """Prints what they mean, on one screen."""
        from reap.drag.exact import terminal

        terminal.render_verdict(console, seen)

    def next_command(self, command: list[str]) -> list[str]:
        """A recording: what the sites allocate besides."""
        return ["reap", "record", "--depth", "full", "--", *command]


@dataclass(frozen=True)
class Exact(_SeesAccesses):
    """Under Valgrind: every access of any program, some ten times slower."""

    depth: int = DEPTH
    slower: int = drag.SLOWER

    def run(self, launch: Launch, program: Program, folder: Path, say: Say) -> Outcome:
        """Builds the engine, if it is not there yet, and runs the program under it. Throws ReapError."""
        drag.require(program)
        engine = valgrind.for_all_users(valgrind.ready(say), folder.parent)
        keep_malloc = bool(program.keeps_malloc)
        return drag.run(launch, engine, folder, depth=self.depth, keep_malloc=keep_malloc)

    def read(self, folder: Path, program: Program, outcome: Outcome) -> DragProfile:
        """Reads the recordings, with the complaints of Valgrind as notes. Throws ReapError."""
        complaints = drag.complaints(folder)
        notes = [*drag.notes(program, outcome), *complaints]
        return _profile(folder, program, outcome, "exact", notes, complaints)


@dataclass(frozen=True)
class Recompiled(_SeesAccesses):
    """The accesses of code that reap-drag-cc has compiled, some two times slower."""

    slower: int = 1

    def run(self, launch: Launch, program: Program, folder: Path, say: Say) -> Outcome:  # noqa: ARG002 - the protocol's
        """Runs the program; throws ReapError where reap-drag-cc did not compile it."""
        return recompiled.run(launch, folder)

    def read(self, folder: Path, program: Program, outcome: Outcome) -> DragProfile:
        """Reads the recordings. Throws ReapError."""
        return _profile(folder, program, outcome, "recompiled", drag.unseen(program), [])


def _profile(
    folder: Path,
    program: Program,
    outcome: Outcome,
    engine: Literal["exact", "recompiled"],
    notes: list[str],
    complaints: list[str],
) -> DragProfile:
    recordings = read_all(folder, drag.RECORDINGS, complaints)
    with reading(folder):  # each is walked through again
        return profile(recordings, program.command, engine=engine, status=outcome.status, notes=notes)
