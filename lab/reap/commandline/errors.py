"""Printing of errors."""

import click

from reap.base.errors import ReapError
from reap.base.text import message


def complain(error: ReapError) -> None:
    """Prints an error as every verb does."""
    click.echo(f"reap: {message(error.what)}", err=True)
    if error.hint:
        click.echo(f"  {message(error.hint)}", err=True)
