"""Words of a command in the text of one option."""

import re
import shlex
from collections.abc import Sequence

from reap.base.errors import ExitCode, ReapError

_ASSIGNMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)", re.DOTALL)


def split(option: str, text: str) -> list[str]:
    """A command, split as a shell would. Throws ReapError."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ReapError(
            f"{option} cannot be split into words: {error}", "quote it as for a shell", ExitCode.USAGE
        ) from error


def assigned(words: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Variables before a command, as a shell takes them (`K=V CMD`), and the command, which may be empty."""
    variables: dict[str, str] = {}
    for number, word in enumerate(words):
        found = _ASSIGNMENT.fullmatch(word)
        if found is None:
            return variables, list(words[number:])
        variables[found[1]] = found[2]
    return variables, []
