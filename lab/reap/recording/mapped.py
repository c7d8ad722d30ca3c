"""Recordings on file systems whose files cannot be mapped, such as FUSE with direct_io."""

import contextlib
import mmap
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


def can_map(folder: Path) -> bool:
    """Whether processes can share a mapping of a file in this folder; also where none can be made in it."""
    with contextlib.ExitStack() as opened:
        try:
            file = opened.enter_context(tempfile.TemporaryFile(dir=folder))
            file.truncate(mmap.PAGESIZE)
        except OSError:
            return True
        try:
            opened.enter_context(mmap.mmap(file.fileno(), mmap.PAGESIZE))
        except OSError:
            return False
    return True


def must_be_copied(path: Path) -> bool:
    """Whether a recording has to be made in the folder for temporary files, and copied to `path`."""
    return not can_map(path.absolute().parent) and can_map(Path(tempfile.gettempdir()))


@contextlib.contextmanager
def copied_to(path: Path) -> Iterator[Path]:
    """A file in the folder for temporary files, of which `path` is a copy in the end, whatever happens.

    What a process writes that runs on afterwards is lost.
    """
    with tempfile.TemporaryDirectory(prefix="reap-recording-") as folder:
        written = Path(folder) / path.name
        try:
            yield written
        finally:
            if written.exists():
                shutil.copy(written, path)
