"""Words of an option's value: a command in one text, a variable with its value."""

import shlex

from reap.base.errors import ExitCode, ReapError


def split(option: str, text: str) -> list[str]:
    """A command, split as a shell would. Throws ReapError."""
    try:
        return shlex.split(text)
    except ValueError as error:
        raise ReapError(
            f"{option} cannot be split into words: {error}", "quote it as for a shell", ExitCode.USAGE
        ) from error


def variable(option: str, word: str, example: str) -> tuple[str, str]:
    """The name and the value of K=V. Throws ReapError, with a variable for an example."""
    name, equals, value = word.partition("=")
    if not name or not equals:
        raise ReapError(f"{option} {word} sets no variable", f"{option} {example}", ExitCode.USAGE)
    return name, value
