"""`reap allocators path`: where a built allocator is, for build systems and scripts."""

import click

from reap.base.errors import ExitCode


@click.command()
@click.argument("name")
def path(name: str) -> int:
    """Print the folder of an allocator that `install` has built.

    In it are libNAME.so, which replaces malloc where it is preloaded; and, of those that have heaps or
    names of their own, libNAME.a, which replaces nothing where it is linked, and the folder include.
    """
    from reap.allocators import catalog

    click.echo(catalog.folder_of(catalog.recipe_of(name)))
    return ExitCode.OK
