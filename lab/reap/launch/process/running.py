"""Processes of a program that still run when it has ended, such as a daemon."""

import os
from pathlib import Path

_ROUNDS = 20
"""Lists of processes that are read at most, as others start meanwhile."""
_AGAIN = 3
"""Reads of an environment that is empty for the moment in which a program is executed."""


def with_variable(name: str, value: str) -> list[str]:
    """Processes that were started with this variable, each as `name (pid N)`.

    Those of other users are not seen, unless root looks; nor one that was started with another environment.
    Cost: one file of each process of the machine.
    """
    wanted = os.fsencode(f"{name}={value}")
    found: dict[str, str] = {}
    known: set[str] = set()
    for _ in range(_ROUNDS):
        fresh = {entry for entry in os.listdir("/proc") if entry.isdigit()} - known  # noqa: PTH208 - names
        if not fresh:
            break
        for entry in fresh:
            folder = Path("/proc", entry)
            try:
                if wanted in _environment(folder):
                    found[entry] = (folder / "comm").read_text(errors="replace").strip()
            except OSError:
                continue  # ended, or of another user
        known |= fresh
    return [f"{found[entry]} (pid {entry})" for entry in sorted(found, key=int)]


def _environment(folder: Path) -> list[bytes]:
    """Raises OSError of one that has ended, of the kernel's, and of other users'."""
    text = b""
    for _ in range(_AGAIN):
        text = (folder / "environ").read_bytes()
        if text:
            break
        (folder / "exe").readlink()
    return text.split(b"\0")
