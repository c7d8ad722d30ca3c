"""`reap workloads`: the programs that we measure."""

import click

from reap.api import Group
from reap_studies.cli.demo import demo
from reap_studies.cli.list_cards import list_cards
from reap_studies.cli.prepare import prepare
from reap_studies.cli.run import run
from reap_studies.scenario.command import scenario


@click.group(cls=Group)
def workloads() -> None:
    """Run the benchmark programs, with and without their custom allocators where they have one."""


workloads.add_command(list_cards)
workloads.add_command(prepare)
workloads.add_command(run)
workloads.add_command(scenario)
workloads.add_command(demo)
