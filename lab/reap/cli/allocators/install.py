"""`reap allocators install`: building what no Debian package brings, and installing what one does."""

from __future__ import annotations  # what is imported late stands in annotations

from typing import TYPE_CHECKING

import click

from reap.base.errors import ExitCode

if TYPE_CHECKING:
    from reap.allocators.recipe import Recipe


@click.command()
@click.option("-f", "--force", is_flag=True, help="Build it even if it is already installed.")
@click.option("-y", "--yes", is_flag=True, help="Also install Debian packages (requires root or sudo).")
@click.argument("names", nargs=-1, metavar="[NAME]...")
def install(names: tuple[str, ...], force: bool, yes: bool) -> int:
    """Build allocators for this user from sources on crates.io, or install Debian packages.

    Without a NAME, lists the available recipes. cargo fetches the source at the versions and hashes of a lock
    file, and gcc builds it. Before it is installed, a program with threads and child processes must run under
    it. It goes to ~/.local/share/reap/allocators (or below XDG_DATA_HOME). An allocator that is already
    installed is left as it is. Allocators from Debian packages are installed with apt-get; without --yes the
    command is printed and nothing is installed.
    """
    from reap.allocators import catalog, packages

    if not names:
        _say_recipes()
        return ExitCode.OK
    every = list(dict.fromkeys(names))
    debian = {name: package for name in every if (package := catalog.package_of(name))}
    recipes = [catalog.recipe_of(name) for name in every if name not in debian]
    lacking = packages.lacking(debian.values())
    if lacking and not yes:
        from reap.allocators import apt
        from reap.base.errors import ReapError

        again = f"reap allocators install --yes {' '.join(every)}"
        raise ReapError(
            f"{', '.join(debian)}: Debian's, and nothing was installed",
            f"{apt.command(lacking)}, or: {again}",
            ExitCode.USAGE,
        )
    for recipe in recipes:
        _build(recipe, force=force)
    if debian:
        _from_debian(debian, lacking)
    click.echo(f"next: reap compare --allocators glibc,{','.join(every)} -- CMD", err=True)
    return ExitCode.OK


def _build(recipe: Recipe, *, force: bool) -> None:
    from reap.allocators import catalog
    from reap.allocators.install import install as build

    new = build(recipe, force=force, tell=lambda said: click.echo(f"reap: {said}", err=True))
    where = catalog.folder_of(recipe)
    click.echo(f"{recipe.name} {recipe.version}: {where}" + ("" if new else " (was there already)"))


def _from_debian(debian: dict[str, str], lacking: list[str]) -> None:
    from reap.allocators import apt, catalog

    if lacking:
        _, removes = apt.simulated(lacking)
        apt.install(lacking, removes, lambda said: click.echo(f"reap: {said}", err=True))
    for allocator in catalog.parse(",".join(debian)):
        there = "" if debian[allocator.name] in lacking else " (was there already)"
        click.echo(f"{allocator.name}: {allocator.library}{there}")
    click.echo(f"reap: see whether they serve: reap allocators check {' '.join(debian)}", err=True)


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
