"""Which processes that a program started still run when it has ended, such as a daemon."""

import os
from pathlib import Path


def with_variable(name: str, value: str) -> list[str]:
    """Processes that were started with this variable, each as `name (pid N)`.

    Those of other users are not seen, unless root looks; nor one that was started with another environment.
    Cost: one file of each process of the machine.
    """
    wanted = os.fsencode(f"{name}={value}")
    found = []
    for entry in os.listdir("/proc"):  # noqa: PTH208 - names alone
        if not entry.isdigit():
            continue
        folder = Path("/proc", entry)
        try:
            if wanted in (folder / "environ").read_bytes().split(b"\0"):
                found.append(f"{(folder / 'comm').read_text(errors='replace').strip()} (pid {entry})")
        except OSError:
            continue  # ended, or of another user
    return found
