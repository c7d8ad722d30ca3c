"""`reap allocators`: what is found, and from where."""

from pathlib import Path

import click

from reap.base.errors import ExitCode
from reap.cli.allocators.check import check
from reap.cli.allocators.install import install
from reap.cli.allocators.path import path
from reap.commandline.groups import Group


@click.group(cls=Group, invoke_without_command=True)
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the list as JSON."
)
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.pass_context
def allocators(context: click.Context, json_file: Path | None, force: bool) -> int:
    """List the available allocators, where they come from, and how to install the others.

    To use any other allocator, give its file: --allocators NAME=/path/lib.so.
    """
    if context.invoked_subcommand is not None:
        if force or json_file:
            raise click.UsageError(f"put the options of {context.invoked_subcommand} after it")
        return ExitCode.OK

    from rich.table import Table

    from reap.allocators import catalog
    from reap.allocators.records import Missing
    from reap.commandline import reporting

    reporting.refuse_existing(json_file, force=force)
    survey = catalog.survey()
    found = [each for each in survey if not isinstance(each, Missing)]
    missing = [each for each in survey if isinstance(each, Missing)]
    names = [each.name for each in found]
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("allocator", "from", "file"):
        table.add_column(heading, overflow="fold")
    for each in survey:
        if isinstance(each, Missing):
            table.add_row(each.name, "not installed", each.install, style="dim")
        else:
            table.add_row(each.name, each.origin, each.library or "(what programs have by default)")
    reporting.console(json_file).print(table)
    if json_file is not None:
        lists = {"allocators": found, "missing": missing}
        reporting.write_plain(json_file, "allocators", lists, force=force)
    click.echo(f"next: reap compare --allocators {','.join(names[:4])} -- CMD", err=True)
    return ExitCode.OK


allocators.add_command(check)
allocators.add_command(install)
allocators.add_command(path)
