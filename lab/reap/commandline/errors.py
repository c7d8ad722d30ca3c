"""Printing of errors."""

import click

from reap.base.errors import ReapError


def complain(error: ReapError) -> None:
    """Prints an error as every verb does."""
    click.echo(f"reap: {error.what}", err=True)
    if error.hint:
        click.echo(f"  {error.hint}", err=True)
