"""Several settings by one option that may be given again: `--litter seed=7 --litter order=address`."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from reap.base.text import did_you_mean


class Setting(click.ParamType[tuple[str, Any]]):
    """KEY=VALUE: a key of a table, and a value of the type that it has there."""

    name = "KEY=VALUE"

    def __init__(self, types: Mapping[str, click.ParamType[Any]]) -> None:
        self._types = types

    def convert(
        self, value: str | tuple[str, Any], parameter: click.Parameter | None, context: click.Context | None
    ) -> tuple[str, Any]:
        """The key and the value. Fails with a message that says what is expected."""
        if isinstance(value, tuple):
            return value
        key, equals, text = value.partition("=")
        if not equals or key not in self._types:
            hint = f"{did_you_mean(key, self._types)}the keys are {', '.join(self._types)}"
            self.fail(f"{value!r} is no setting, KEY=VALUE; {hint}", parameter, context)
        try:
            return key, self._types[key].convert(text, None, context)
        except click.BadParameter as error:
            return self.fail(f"{key}: {error.message}", parameter, context)


def option(
    flag: str,
    types: Mapping[str, click.ParamType[Any]],
    help: str,  # noqa: A002 - as click
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option of settings; the command gets a dictionary of those given, of each the last."""
    return click.option(
        flag,
        type=Setting(types),
        multiple=True,
        callback=lambda _context, _option, given: {key.replace("-", "_"): value for key, value in given},
        help=f"{help} Repeatable.",
    )
