"""Opening what the drag engine recorded."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reap import native
from reap.base.errors import ExitCode, ReapError
from reap.base.files import native_name


def read(path: Path) -> native.Drag:
    """Reads the recording of one process. Throws ReapError if it cannot be read or is none.

    A recording that was cut short is read as far as it is sound; its header says so. Costs a walk through
    the file, which must stay where it is.
    """
    with reading(path):
        return native.Drag(native_name(path))


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises what goes wrong while a recording is read, there or later, as a ReapError that names it."""
    try:
        yield
    except OSError as error:
        raise ReapError(f"the drag recording {path} cannot be read: {error.strerror}") from error
    except native.BadTraceError as error:
        raise ReapError(f"{path} cannot be read as a drag recording: {error}") from error
    except MemoryError as error:
        raise ReapError(
            f"{path} needs more memory than there is",
            "it takes some hundred bytes for each object that is in use at once: measure a smaller run",
        ) from error


def read_all(folder: Path, pattern: str, complaints: list[str]) -> list[native.Drag]:
    """Reads what a run left. Throws ReapError as `read` does, and where there is nothing.

    `complaints` are what the engine said, for the message.
    """
    # A process that had no room for its header, or was killed before it, left a file of no size.
    # A link was not made by the engine.
    paths = sorted(path for path in folder.glob(pattern) if not path.is_symlink())
    recordings = [read(path) for path in paths if path.stat().st_size > 0]
    if paths and not recordings:
        raise ReapError(
            f"there was no space for a recording in {tempfile.gettempdir()}",
            "free some space there, or set TMPDIR to a folder with more: "
            "it takes about ten bytes for each allocation, and a megabyte at least",
        )
    if not recordings:
        said = "; ".join(complaints[:3]) or "it says nothing"
        raise ReapError(
            f"the drag engine did not start: {said}",
            "it reserves 16 TiB of address space (not of memory): `ulimit -v unlimited`, and "
            "vm.overcommit_memory must not be 2",
            ExitCode.NOT_EXECUTABLE,
        )
    return recordings
