"""`reap allocators path`: where a built allocator is, for build systems and scripts."""

import click

from reap.base.errors import ExitCode


@click.command()
@click.argument("name")
def path(name: str) -> int:
    """Print the folder of an allocator that `install` has built.

    It contains libNAME.so, which replaces malloc when preloaded. Allocators with an API of their own also
    have libNAME.a, which can be linked without replacing malloc, and the folder include.
    """
    from reap.allocators import catalog

    click.echo(catalog.folder_of(catalog.recipe_of(name)))
    return ExitCode.OK
