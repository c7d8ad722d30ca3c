"""The source of a recorded program, as far as it is on this machine, and profiles of other tools."""

import os
from collections.abc import Callable
from pathlib import Path

from reap.base.errors import ReapError
from reap.base.files import beginning, opened_regular
from reap.recording.analyse.calls import Calls
from reap.show.analyse import pprof

SUFFIXES = (
    ".c", ".cc", ".cpp", ".cxx", ".c++", ".h", ".hh", ".hpp", ".hxx", ".inl", ".ipp", ".tcc", ".rs", ".py",
    ".pyx", ".go", ".zig", ".f90", ".m", ".mm", ".swift", ".d",
)  # fmt: skip
"""Nothing else is read: the names come from the recording, and a page is passed on."""
MOST_BYTES = 4_000_000
"""Of one source file."""


def source_of(recorded_at: float) -> Callable[[str], list[str]]:
    """Reads source files that have not changed since, in seconds since the epoch."""
    return lambda file: lines(Path(file), recorded_at)


def lines(path: Path, recorded_at: float) -> list[str]:
    """The lines of a file; empty where it is no source file, cannot be read, or is newer."""
    try:
        if path.suffix.lower() not in SUFFIXES or not path.is_absolute():
            return []
        with opened_regular(path) as file:
            known = os.fstat(file.fileno())
            if known.st_size > MOST_BYTES or known.st_mtime > recorded_at:
                return []
            return file.read(MOST_BYTES).decode(errors="replace").expandtabs(4).splitlines()
    except (OSError, ValueError):  # a name with a zero byte is a ValueError
        return []


def profile_of(file: Path) -> Calls | None:
    """The stacks of a heap profile of pprof; None where the file is none. Throws ReapError."""
    if not file.is_file() or not pprof.is_profile(beginning(file, 2), file.name):
        return None
    try:
        data = file.read_bytes()
    except OSError:
        return None  # the reader of recordings says why
    try:
        return pprof.read(data)
    except pprof.BadProfileError as error:
        raise ReapError(
            f"{file} cannot be read as a heap profile of pprof: {error}",
            "write the profile again, or look at it with: go tool pprof -raw FILE",
        ) from error
