"""Opening a trace."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reap import native
from reap.base.errors import ReapError
from reap.base.files import native_name
from reap.launch import native_files


def read(path: Path, folders: native.Folders | None = None) -> native.Recording:
    """Reads a whole recording and boils it down. Throws ReapError if it cannot be read or is none.

    `folders` are where names are looked for that it does not have.

    A recording that was cut short or damaged is read as far as it is sound; its `damage()` says what is
    missing. Memory is bounded by what the recorded program had in use at once.
    """
    with reading(path):
        return native.Recording(
            native_name(path), native_files.preload("record").name, folders=folders or native.Folders()
        )


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Raises what goes wrong while a recording is read, whole or in parts, as a ReapError that names it."""
    try:
        yield
    except OSError as error:
        hint = "make one with: reap record -o FILE -- CMD" if isinstance(error, FileNotFoundError) else ""
        raise ReapError(f"the recording {path} cannot be read: {error.strerror}", hint) from error
    except native.BadTraceError as error:
        raise ReapError(
            f"{path} cannot be read as a recording: {error}", "make one with: reap record -o FILE -- CMD"
        ) from error
    except MemoryError as error:
        raise ReapError(
            f"{path} needs more memory than there is",
            "the recorded program had more blocks in use than fit here; record it with --depth triage",
        ) from error
