"""The drag of an experiment's program, which is measured once and kept in the experiment's folder."""

import shlex

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import read_back, write_safely
from reap.drag.engine import Say, measure
from reap.drag.exact.engine import Exact
from reap.drag.exact.records import DragProfile
from reap.experiment.folder import Folder
from reap.experiment.once import alone, prepared

KEPT = "drag.json"
"""What was seen, in the folder of an experiment."""


def kept(folder: Folder) -> DragProfile | None:
    """Drag measured in that experiment before; None for nothing. Throws ReapError if the file is damaged."""
    file = folder.path / KEPT
    return read_back(
        file, DragProfile, f"remove it, and add --drag to measure it again: rm {shlex.quote(str(file))}"
    )


def once(folder: Folder, say: Say) -> DragProfile:
    """Drag of an experiment's program, run as its baseline; what is kept in `folder` is not run again.

    Throws ReapError, too, where the program does not end in twenty times its time.
    """
    if (found := kept(folder)) is not None:
        return found
    spec = folder.spec
    say("one run under the drag engine, some ten times slower than usual")
    launch = alone(folder)
    with prepared(spec):
        seen, outcome = measure(Exact(), launch, spec.program, say)
    if outcome.timed_out:
        raise ReapError(
            f"{spec.program.command[0]} did not end within 20 times {spec.timeout:g} s under the drag engine",
            "give it more with --timeout, or leave --drag out",
            ExitCode.TIMED_OUT,
        )
    write_safely(folder.path / KEPT, msgspec.json.encode(seen) + b"\n", force=True)
    return seen
