"""`reap workloads list`: which programs there are."""

from pathlib import Path

import click

from reap.api import ExitCode


@click.command("list")
@click.option(
    "--json", "json_file", type=click.Path(path_type=Path, dir_okay=False), help="Write the cards as JSON."
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a report as one HTML file.",
)
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
def list_cards(json_file: Path | None, html_file: Path | None, force: bool) -> int:
    """List the programs, the kind of custom allocator each has, and its variants.

    Cards of your own are in ~/.config/reap/workloads, or in the folders that REAP_WORKLOADS names.
    """
    from rich.table import Table

    from reap.api import Sheet, reporting, units, write_page
    from reap_studies.workloads import card
    from reap_studies.workloads.records import VERSION

    reporting.refuse_existing(json_file, html_file, force=force)
    cards, bad = card.sound(card.names())
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("workload", "kind", "variants", "about"):
        table.add_column(heading, overflow="fold")
    table.add_column("a run", justify="right")
    rows = [
        [each.name, each.kind, ", ".join(each.variants), each.title, units.duration(each.expected_seconds)]
        for each in cards
    ]
    for row in rows:
        table.add_row(*row)
    reporting.console(json_file, html_file).print(table)
    if json_file is not None:
        reporting.write_plain(json_file, "workloads", {"workloads": cards}, force=force, version=VERSION)
    if html_file is not None:
        write_page(
            html_file,
            "Which programs can be measured?",
            [f"{units.number(len(cards), 'program')}; {units.number(len(bad), 'card')} had to be left out."],
            [Sheet("Programs", ["Workload", "Kind", "Variants", "About", "A run"], rows)],
            notes=[error.what for error in bad.values()],
            force=force,
        )
        reporting.say_written("the report", html_file)
    for error in bad.values():
        click.echo(f"left out: {error.what}\n  {error.hint}", err=True)
    click.echo("next: reap workloads run NAME", err=True)
    return ExitCode.FAILED if bad else ExitCode.OK
