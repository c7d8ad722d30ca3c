"""Files of a plan on a worker, by their content: sent once, verified, and copied for each cell."""

import hashlib
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from reap.base.errors import ReapError
from reap.base.files import cache_folder
from reap.sweep.records import Sweep

_MODE = 0o755
"""What is a program and what an input is not told apart."""


def store() -> Path:
    """Folder in which a machine keeps staged files, named by their SHA-256."""
    return cache_folder() / "sweep"


def files(sweep: Sweep) -> dict[str, Path]:
    """Files that must be on every worker, by SHA-256."""
    folder = Path(sweep.directory)
    return {digest: folder / name for cell in sweep.cells for name, digest in cell.files.items()}


def lacking(digests: Iterable[str]) -> list[str]:
    """Digests of files that are not in this machine's store."""
    return [each for each in digests if not (store() / each).is_file()]


def keep(digest: str, data: bytes) -> None:
    """Puts a file into this machine's store. Throws ReapError."""
    found = hashlib.sha256(data).hexdigest()
    if found != digest:
        raise ReapError(
            f"a file was changed while it was staged: its SHA-256 is {found} and not {digest}",
            "begin a new sweep once the files of the plan are final",
        )
    folder = store()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".part-", delete=False) as part:
            try:
                part.write(data)
                part.flush()
                # Several workers of a machine may keep the same file at once.
                Path(part.name).replace(folder / digest)
            except BaseException:
                Path(part.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise ReapError(
            f"{folder} cannot be written: {error.strerror}", "free some space there, or set XDG_CACHE_HOME"
        ) from error


def lay_out(files: Mapping[str, str], folder: Path) -> None:
    """Copies files into a folder, as the plan's folder has them. Throws ReapError, OSError."""
    for name, digest in files.items():
        kept = store() / digest
        if not kept.is_file():
            raise ReapError(f"{name} was not staged", "resume the sweep: it is staged again")
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(kept, target)
        target.chmod(_MODE)
