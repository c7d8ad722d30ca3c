"""Recordings on file systems whose files cannot be mapped, such as FUSE with direct_io."""

import contextlib
import mmap
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from reap.base.errors import ReapError
from reap.base.files import written_safely


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

    What a process writes that runs on afterwards is lost. Throws ReapError where the copy cannot be written,
    which then names the first file.
    """
    folder = Path(tempfile.mkdtemp(prefix="reap-recording-"))
    written = folder / path.name
    try:
        yield written
    finally:
        if written.exists():
            _copy(written, path)
        shutil.rmtree(folder, ignore_errors=True)


def _copy(written: Path, path: Path) -> None:
    """Copies to a new file: what others have put there meanwhile stays, and no link is followed."""
    try:
        with written.open("rb") as source, written_safely(path) as target:
            shutil.copyfileobj(source, target)
    except ReapError as error:
        raise ReapError(f"{error.what}; the recording is {written}", error.hint) from error
