"""`reap allocators install`: building what no Debian package brings."""

import click

from reap.errors import ExitCode


@click.command()
@click.option("-f", "--force", is_flag=True, help="Build it even if it is there already.")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def install(names: tuple[str, ...], force: bool) -> int:
    """Build allocators from the source that crates.io carries, for this user.

    Without a NAME, says which there are. cargo fetches the source, at the versions and hashes of a lock file;
    gcc builds it; a program of threads and children must run under it before it is installed, in
    ~/.local/share/reap/allocators (or below XDG_DATA_HOME). One that is there already is left as it is.
    """
    from reap.allocators import catalog
    from reap.allocators.install import install as build

    if not names:
        _say_recipes()
        return ExitCode.OK
    wanted = [catalog.recipe_of(name) for name in dict.fromkeys(names)]
    for recipe in wanted:
        new = build(recipe, force=force, tell=lambda said: click.echo(f"reap: {said}", err=True))
        where = catalog.folder_of(recipe)
        click.echo(f"{recipe.name} {recipe.version}: {where}" + ("" if new else " (was there already)"))
    built = ",".join(recipe.name for recipe in wanted)
    click.echo(f"next: reap compare --allocators glibc,{built} -- CMD", err=True)
    return ExitCode.OK


def _say_recipes() -> None:
    from rich.console import Console
    from rich.table import Table

    from reap.allocators import store
    from reap.allocators.recipe import recipes

    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("allocator", "version", "licence", "", "what it is"):
        table.add_column(heading)
    for each in recipes().values():
        here = "installed" if store.installed(each) else ""
        table.add_row(each.name, each.version, each.licence, here, each.about)
    Console().print(table)
    click.echo("next: reap allocators install NAME...", err=True)
