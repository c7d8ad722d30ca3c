"""The installed Valgrind, and what of it can be used."""

import os
import shutil
from pathlib import Path

_FOLDERS = ("/usr/libexec/valgrind", "/usr/local/libexec/valgrind", "/usr/lib/x86_64-linux-gnu/valgrind")
PLATFORM = "amd64-linux"
"""As Valgrind names the only one that reap uses it on."""


def tools() -> Path | None:
    """The folder of Valgrind's tools for x86-64; None without Valgrind."""
    if shutil.which("valgrind") is None:
        return None
    folders = (os.environ.get("VALGRIND_LIB", ""), *_FOLDERS)
    found = (Path(folder) for folder in folders if folder)
    return next((each for each in found if (each / f"callgrind-{PLATFORM}").is_file()), None)
