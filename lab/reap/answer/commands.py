"""A program's command with variables before it, ready to be pasted into a shell."""

import shlex
from collections.abc import Mapping

from reap.allocators.library import preloads


def preloading(library: str, inherited: str = "") -> dict[str, str]:
    """Return the variable that preloads a library; none where it cannot name its file.

    What `inherited`, a value of LD_PRELOAD, names stays and comes after it, as in the trials.
    """
    if not library.startswith("/") or any(c in library for c in " :\t\n"):
        return {}
    return {"LD_PRELOAD": ":".join([*preloads(library), *filter(None, [inherited])])}


def with_variables(variables: Mapping[str, str], command: list[str]) -> str:
    """The variables before the command; either may be empty."""
    words = [f"{name}={shlex.quote(value)}" for name, value in variables.items()]
    return " ".join([*words, *map(shlex.quote, command)])
