"""Programs that other packages make by a name: their entry points of the group `reap.programs`."""

from typing import Protocol

from reap.base import extensions
from reap.base.errors import ExitCode, ReapError


class Made(Protocol):
    """A program that is ready to run."""

    argv: list[str]
    directory: str
    """In which to run it."""
    environment: dict[str, str]
    """Variables that it needs beside those of the caller."""


class Make(Protocol):
    """A function that makes a program; throws ReapError if it does not know the name, or cannot."""

    def __call__(self, name: str, variant: str, *, scale: int | None) -> Made:
        """The program in a variant of it; `scale` says how much work it does, None is its default."""
        ...


def make(name: str, variant: str, *, scale: int | None) -> Made:
    """The program from the first package that makes it. Throws the ReapError of the first if none does."""
    problems = []
    for value in extensions.found(extensions.PROGRAMS).values():
        maker: Make = extensions.load(value)
        try:
            return maker(name, variant, scale=scale)
        except ReapError as error:
            problems.append(error)
    if problems:
        raise problems[0]
    raise ReapError(
        f"no package that is installed here makes the program {name}",
        "pip install reap-studies, or give the program's command",
        ExitCode.NOT_FOUND,
    )
