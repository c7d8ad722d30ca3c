"""Runs a program under the exact drag engine, which leaves a recording of each of its processes."""

import os
import shutil
import signal
import stat
import tempfile
from pathlib import Path

import msgspec

from reap.base.errors import ExitCode, ReapError
from reap.base.files import beginning
from reap.launch import spawn
from reap.launch.program import Program
from reap.launch.records import Launch, Outcome

RECORDINGS = "*.drag"
_LOGS = "log.*"
_GENERAL = ("If you believe this happened", "host stacktrace", "Note: see also the FAQ")
"""Where Valgrind goes on to what is the same for all programs, or is about itself."""
SLOWER = 20
"""How much longer than usual a run may take; ten times is common."""


def run(launch: Launch, engine: Path, folder: Path, *, depth: int, keep_malloc: bool = False) -> Outcome:
    """Runs the program and what it executes; the recordings are in `folder`, which must exist and be empty.

    `engine` is what `drag_tool.ready` gave; `depth` is how many frames an allocation's stack has. With
    `keep_malloc` only the C library's malloc is replaced, and what another serves is not seen. The outcome is
    that of a program some ten times slower. Throws what `spawn.run` throws.
    """
    return spawn.run(
        msgspec.structs.replace(
            launch,
            program=shutil.which("valgrind") or "valgrind",
            argv=[
                "valgrind",
                "--command-line-only=yes",
                "--tool=drag",
                "--quiet",
                "--vgdb=no",
                "--trace-children=yes",
                "--default-suppressions=no",
                f"--num-callers={depth}",
                f"--log-file={folder}/log.%p",
                f"--drag-folder={folder}",
                # To Valgrind: which libraries beside the C library have a malloc to be replaced.
                *(["--soname-synonyms=somalloc=none"] if keep_malloc else []),
                launch.program,
                *launch.argv[1:],
            ],
            environment={**launch.environment, "VALGRIND_LIB": str(engine)},
            timeout=launch.timeout and launch.timeout * SLOWER,
        )
    )


def unseen(program: Program) -> list[str]:
    """Notes on what no engine sees of the program."""
    said = list(program.notes)
    python = Path(program.image).name.startswith("python")
    if python and os.environ.get("PYTHONMALLOC", "").partition("_")[0] != "malloc":
        said.append(
            "Python's own allocator hides its objects in arenas that it maps, which count nowhere: "
            "set PYTHONMALLOC=malloc to see them"
        )
    return said


def notes(program: Program, outcome: Outcome) -> list[str]:
    """Notes on such a run that a reader must know."""
    said = unseen(program)
    if program.keeps_malloc:
        said.append(
            f"{program.keeps_malloc}: that malloc was left to it, and its blocks are not in these figures"
        )
    if outcome.signal == signal.SIGKILL and not outcome.timed_out:
        said.append(
            "it was ended by SIGKILL: if nobody sent that, there was not enough memory; "
            "the engine needs up to three times what the program does"
        )
    return said


def require(program: Program) -> None:
    """Throws ReapError (126) for what Valgrind refuses to run, whoever asks."""
    mode = Path(program.image).stat().st_mode
    if mode & (stat.S_ISUID | stat.S_ISGID):
        raise ReapError(
            f"{program.image} is set-user-ID or set-group-ID: Valgrind does not run such programs",
            f"measure a copy without the privilege: cp {program.image} /tmp/",
            ExitCode.NOT_EXECUTABLE,
        )


def complaints(folder: Path) -> list[str]:
    """Messages of Valgrind and the engine, a line each; most runs have none."""
    said: list[str] = []
    for path in sorted(path for path in folder.glob(_LOGS) if not path.is_symlink()):
        for line in beginning(path).decode(errors="replace").splitlines():
            words = line.partition("== ")[2].strip() if line.startswith("==") else line.strip()
            if words.startswith(_GENERAL):
                break
            if words and words not in said:
                said.append(words)
    if any(path.lstat().st_size == 0 for path in folder.glob(RECORDINGS)):
        said.append(
            f"a process had no space for its recording in {tempfile.gettempdir()}: "
            "set TMPDIR to a folder with more"
        )
    return said
