"""`reap allocators`: what is found, and from where."""

from pathlib import Path

import click

from reap.base.errors import ExitCode
from reap.cli.allocators.check import check
from reap.cli.allocators.install import install
from reap.cli.allocators.path import path
from reap.commandline import outputs
from reap.commandline.groups import Group

_DEFAULT = "(what programs have by default)"


@click.group(cls=Group, invoke_without_command=True)
@outputs.json
@outputs.html
@outputs.force
@click.pass_context
def allocators(context: click.Context, json_file: Path | None, html_file: Path | None, force: bool) -> int:
    """List the available allocators, where they come from, and how to install the others.

    To use any other allocator, give its file: --allocators NAME=/path/lib.so.
    """
    if context.invoked_subcommand is not None:
        if force or json_file or html_file:
            raise click.UsageError(f"put the options of {context.invoked_subcommand} after it")
        return ExitCode.OK

    from rich.table import Table

    from reap.allocators import catalog
    from reap.allocators.records import Missing
    from reap.base import units
    from reap.commandline import reporting
    from reap.commandline.tables import Sheet, write_page

    reporting.refuse_existing(json_file, html_file, force=force)
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
            table.add_row(each.name, each.origin, each.library or _DEFAULT)
    reporting.console(json_file, html_file).print(table)
    if json_file is not None:
        lists = {"allocators": found, "missing": missing}
        reporting.write_plain(json_file, "allocators", lists, force=force)
    if html_file is not None:
        available = [[each.name, each.origin, each.library or _DEFAULT] for each in found]
        write_page(
            html_file,
            "Which allocators are there?",
            [f"{units.number(len(found), 'allocator')} can be used here, {len(missing)} more be installed."],
            [
                Sheet("Available", ["Allocator", "From", "File"], available),
                Sheet(
                    "Not installed", ["Allocator", "Install it by"], [[m.name, m.install] for m in missing]
                ),
            ],
            force=force,
        )
        reporting.say_written("the report", html_file)
    click.echo(f"next: reap compare --allocators {','.join(names[:4])} -- CMD", err=True)
    return ExitCode.OK


allocators.add_command(check)
allocators.add_command(install)
allocators.add_command(path)
