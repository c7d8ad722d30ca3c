"""Runs a program that is held before it executes, so that something can be attached to its process first."""

import tempfile
from collections.abc import Callable
from pathlib import Path

from reap.base.errors import ReapError
from reap.launch import spawn, together
from reap.launch.process import smaps
from reap.launch.records import Launch, Outcome


def run(launch: Launch, attach: Callable[[int, Callable[[], None]], None]) -> Outcome:
    """Runs a program on this terminal to its end; what it cost.

    `attach` gets its process, which waits, and what has it execute the program; it returns when the program
    has ended. What it throws ends the program. Throws what `spawn.run` throws.
    """
    with together.Gate() as gate, tempfile.TemporaryDirectory(prefix="reap-") as scratch:
        prepared = spawn.Prepared(together.held(launch, 1, None, gate), Path(scratch))
        with spawn.passed_on() as passing, spawn.started(prepared.command, launch, gate.passed) as launcher:
            passing.to(launcher.process)
            gate.wait(1)
            waiting = smaps.children(launcher.process.pid)
            if len(waiting) != 1:
                raise ReapError(f"the launcher of {launch.program} has no program", "run `reap doctor`")
            attach(waiting[0], gate.release)
            return prepared.outcome(launcher.result())
