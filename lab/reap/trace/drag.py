"""Opening what the drag engine recorded."""

from pathlib import Path

from reap import native
from reap.errors import ReapError


def read(path: Path) -> native.Drag:
    """Reads the recording of one process. Throws ReapError if it cannot be read or is none.

    A recording that was cut short is read as far as it is sound; its header says so. Costs 24 bytes of
    memory for each allocation that the process made.
    """
    try:
        return native.Drag(str(path))
    except OSError as error:
        raise ReapError(f"the drag recording {path} cannot be read: {error.strerror}") from error
    except native.BadTraceError as error:
        raise ReapError(f"{path} cannot be read as a drag recording: {error}") from error
    except MemoryError as error:
        raise ReapError(
            f"{path} needs more memory than there is",
            "it takes some 60 bytes for each allocation of the process: measure a shorter run",
        ) from error
