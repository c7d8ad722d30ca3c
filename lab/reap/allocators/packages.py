"""Debian packages: which a file belongs to, and which are installed."""

import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path


def owner(path: str | Path) -> tuple[str, str]:
    """The package that installed the file, and its version; two empty strings where nobody knows."""
    if shutil.which("dpkg-query") is None:
        return "", ""
    # On a system with merged /usr, dpkg may know a file by either of its names.
    resolved = str(Path(path).resolve())
    for name in dict.fromkeys([str(path), resolved, resolved.removeprefix("/usr")]):
        answer = _query("-S", name)
        if answer:
            package = answer.partition(": ")[0].split(",")[0]
            return package.partition(":")[0], _query("-W", "-f=${Version}", package)
    return "", ""


def lacking(names: Iterable[str]) -> list[str]:
    """Packages that are not installed; none where there is no dpkg, which could tell."""
    if shutil.which("dpkg-query") is None:
        return []
    return [name for name in names if _query("-W", "-f=${db:Status-Status}", name) != "installed"]


def version(name: str) -> str:
    """The version of an installed package; empty where nobody knows."""
    return _query("-W", "-f=${Version}", name) if shutil.which("dpkg-query") else ""


def _query(*arguments: str) -> str:
    done = subprocess.run(
        ["dpkg-query", *arguments], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    return done.stdout.strip() if done.returncode == 0 else ""
