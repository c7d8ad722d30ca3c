"""Options that were written on the command line, and not left at their defaults."""

from collections.abc import Iterable

import click


def written(context: click.Context, names: Iterable[str]) -> set[str]:
    """Options of these parameters that were written, as a user writes them."""
    source = click.core.ParameterSource.COMMANDLINE
    return {
        max(each.opts, key=len)
        for each in context.command.params
        if each.name in names and context.get_parameter_source(each.name) is source
    }
