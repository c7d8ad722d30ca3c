"""One run of a program under an engine that sees its accesses, and what that says of drag."""

import shlex
from collections.abc import Callable
from typing import Literal

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import folder_for_programs, read_back, write_safely
from reap.drag.exact import launch as drag
from reap.drag.exact import recompiled, valgrind
from reap.drag.exact.analyse import profile
from reap.drag.exact.read import read_all, reading
from reap.drag.exact.records import DragProfile
from reap.experiment.folder import Folder
from reap.experiment.once import alone, prepared
from reap.launch.program import Program, require_preloadable
from reap.launch.records import Launch, Outcome

DEPTH = 12
"""Frames of the stack that tell where an object comes from."""
KEPT = "drag.json"
"""What was seen, in the folder of an experiment."""

Say = Callable[[str], None]


def measure(
    launch: Launch,
    program: Program,
    say: Say,
    *,
    engine: Literal["exact", "recompiled"] = "exact",
    depth: int = DEPTH,
) -> tuple[DragProfile, Outcome]:
    """Runs the program once, some ten times slower (`exact`) or twice (`recompiled`). Throws ReapError."""
    require_preloadable(program)
    with folder_for_programs("reap-drag-") as folder:
        if engine == "recompiled":
            outcome = recompiled.run(launch, folder)
            complaints: list[str] = []
            notes = drag.unseen(program)
        else:
            drag.require(program)
            outcome = drag.run(
                launch,
                valgrind.for_all_users(valgrind.ready(say), folder.parent),
                folder,
                depth=depth,
                keep_malloc=bool(program.keeps_malloc),
            )
            complaints = drag.complaints(folder)
            notes = drag.notes(program, outcome)
        recordings = read_all(folder, drag.RECORDINGS, complaints)
        with reading(folder):  # each is walked through again
            seen = profile(
                recordings,
                program.command,
                engine=engine,
                status=outcome.status,
                notes=[*notes, *complaints],
            )
    return seen, outcome


def kept(folder: Folder) -> DragProfile | None:
    """What was measured in that experiment before; None for nothing. Throws ReapError if it is damaged."""
    file = folder.path / KEPT
    return read_back(
        file, DragProfile, f"remove it, and add --drag to have it measured anew: rm {shlex.quote(str(file))}"
    )


def once(folder: Folder, say: Say) -> DragProfile:
    """That of an experiment's program, as its baseline is run; what is kept in `folder` is not run again.

    Throws ReapError, too, where the program does not end in twenty times its time.
    """
    if (found := kept(folder)) is not None:
        return found
    spec = folder.spec
    say("one run under the drag engine, some ten times slower than usual")
    launch = alone(folder)
    with prepared(spec):
        seen, outcome = measure(launch, spec.program, say)
    if outcome.timed_out:
        raise ReapError(
            f"{spec.program.command[0]} did not end within 20 times {spec.timeout:g} s under the drag engine",
            "give it more with --timeout, or leave --drag out",
            ExitCode.TIMED_OUT,
        )
    write_safely(folder.path / KEPT, msgspec.json.encode(seen) + b"\n", force=True)
    return seen
