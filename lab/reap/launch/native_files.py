"""Places of the native parts of reap: built beside the package, carried in its wheel."""

import os
from importlib import resources
from pathlib import Path

from reap.base import installation
from reap.base.errors import ReapError


def spawner() -> Path:
    """The launcher."""
    return _find("bin/reap-spawn", executable=True)


def calibrator() -> Path:
    """The program that measures what a block and a page cost on this machine."""
    return _find("bin/reap-calibrate", executable=True)


def preload(name: str) -> Path:
    """An object to preload: `record`, `probe`, `requests`, `exec`. Throws ReapError if it is missing."""
    return _find(f"lib/libreap-{name}.so", executable=False)


def preloads() -> list[Path]:
    """All objects to preload that are installed."""
    return sorted((Path(str(resources.files("reap"))) / "lib").glob("libreap-*.so"))


def kit() -> list[Path]:
    """Programs and the preload that record without Python. Throws ReapError if one is missing."""
    return [_find("bin/reap-record", executable=True), spawner(), preload("record")]


def assembler() -> Path:
    """Assembler that `reap-drag-cc` has compilers call; the folder is for `-B`."""
    return _find("lib/drag-cc/as", executable=True)


def _find(relative: str, *, executable: bool) -> Path:
    path = Path(str(resources.files("reap"))) / relative
    if not path.is_file() or (executable and not os.access(path, os.X_OK)):
        raise ReapError(f"a part of reap is missing: {path}", installation.again())
    return path
