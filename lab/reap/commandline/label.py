"""Labels of a recording, as words of a command line."""

import re

import click

from reap.base.text import printable

_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,63}", re.ASCII)
_LONGEST = 256
_MOST = 100
"""Block 0 of a recording has room for more of the longest ones."""


class Label(click.ParamType[tuple[str, str]]):
    """KEY=VALUE, a line of text: `service=checkout`."""

    name = "KEY=VALUE"

    def convert(
        self, value: str | tuple[str, str], parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, str]:
        """The key and the value. Fails with a message that says what is expected."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or not text or not _KEY.fullmatch(key):
            self.fail(f"{value!r} is not KEY=VALUE, as in service=checkout", parameter, context)
        if printable(text) != text or len(text.encode()) > _LONGEST:
            said = f"the value of {key} is not one line of at most {_LONGEST} bytes"
            self.fail(said, parameter, context)
        return key, text


Labels = tuple[tuple[str, str], ...]


def of_a_recording(context: click.Context, parameter: click.Parameter, labels: Labels) -> Labels:
    """The labels that one recording has room for, of each key the last. A click callback."""
    if len(labels) > _MOST:
        raise click.BadParameter(f"at most {_MOST} labels fit into a recording", context, parameter)
    return tuple(dict(labels).items())


LABEL = Label()
"""The type of an option that takes a label."""
