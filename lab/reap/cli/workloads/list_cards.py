"""`reap workloads list`: which programs there are."""

from pathlib import Path

import click

from reap.base.errors import ExitCode


@click.command("list")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the cards as JSON."
)
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
def list_cards(json_file: Path | None, force: bool) -> int:
    """List the programs, the kind of custom allocator each has, and its variants.

    Cards of your own are in ~/.config/reap/workloads, or in the folders that REAP_WORKLOADS names.
    """
    from rich.table import Table

    from reap.base import units
    from reap.commandline import reporting
    from reap.workloads import card

    reporting.refuse_existing(json_file, force=force)
    cards, bad = card.sound(card.names())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("workload", "kind", "variants", "about"):
        table.add_column(heading, overflow="fold")
    table.add_column("a run", justify="right")
    for each in cards:
        seconds = units.duration(each.expected_seconds)
        table.add_row(each.name, each.kind, ", ".join(each.variants), each.title, seconds)
    reporting.console(json_file).print(table)
    if json_file is not None:
        reporting.write_plain(json_file, "workloads", {"workloads": cards}, force=force)
    for error in bad.values():
        click.echo(f"left out: {error.what}\n  {error.hint}", err=True)
    click.echo("next: reap workloads run NAME", err=True)
    return ExitCode.FAILED if bad else ExitCode.OK
