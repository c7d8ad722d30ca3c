"""Commands of reap, and those that other installed packages add to it."""

from collections.abc import Iterator, Mapping

import click

from reap.base import extensions
from reap.base.text import printable

Place = tuple[str, str]
"""A command's module, in which it has the command's name, and its line in `reap --help`."""


class Commands(Mapping[str, Place]):
    """The commands by name, reap's own first. Packages are searched when a name is not among those."""

    def __init__(self, own: Mapping[str, Place]) -> None:
        self._own = own
        self._added: dict[str, Place] | None = None

    def __getitem__(self, name: str) -> Place:
        return self._own[name] if name in self._own else self._others()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self._own, **self._others()})

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _others(self) -> dict[str, Place]:
        if self._added is None:
            self._added = {}
            for name, value in extensions.found(extensions.COMMANDS).items():
                self._added |= _table(name, value)
        return self._added


def _table(name: str, value: str) -> dict[str, Place]:
    """The commands of one entry point; none, and a note, if its package is broken."""
    try:
        return {
            command: (str(module), str(line)) for command, (module, line) in extensions.load(value).items()
        }
    except Exception as error:  # noqa: BLE001 - reap works without it
        problem = printable(f"{type(error).__name__}: {error}")
        click.echo(f"note: the commands of {printable(name)} ({value}) cannot be loaded: {problem}", err=True)
        return {}
