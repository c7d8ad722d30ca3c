"""`reap workloads`: the programs that we measure."""

import click

from reap.cli.workloads.list_cards import list_cards
from reap.cli.workloads.prepare import prepare
from reap.cli.workloads.run import run
from reap.commandline.groups import Group


@click.group(cls=Group)
def workloads() -> None:
    """Run the benchmark programs, with and without their custom allocators where they have one."""


workloads.add_command(list_cards)
workloads.add_command(prepare)
workloads.add_command(run)
