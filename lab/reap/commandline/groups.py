"""Additions to click: a group whose list is whole sentences, and an option with several names."""

from collections.abc import Callable
from typing import Any

import click


class Group(click.Group):
    """A group that lists its commands with whole sentences; click's own cuts them at the line's end."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first sentence of each command's help."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=300)) for name, each in found if each])


class Percent(click.ParamType[float]):
    """A share that is written in percent, as `3`, `3%` or `0.5 %`; a fraction of 1 for the command."""

    name = "percent"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ANN401 - click's
        """Above 0 and at most 50 %."""
        if isinstance(value, float):
            return value
        try:
            percent = float(str(value).removesuffix("%"))
        except ValueError:
            percent = 0.0
        if not 0 < percent <= 50:
            self.fail(f"{value} is no percentage above 0 and up to 50, such as 3%", param, ctx)
        return percent / 100


def names(*flags: str, help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:  # noqa: A002 - as click
    """An option of names separated by commas that may be given again; all of them in one text, or None."""
    return click.option(
        *flags,
        multiple=True,
        callback=lambda _context, _option, given: ",".join(given) if given else None,
        help=f"{help}, separated by commas; may be given again.",
    )
