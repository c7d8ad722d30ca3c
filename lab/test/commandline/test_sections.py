"""Headings in the help of a command with many options."""

import re
from itertools import pairwise

import click
import pytest
from click.testing import CliRunner
from programs import reap

from reap.cli.compare import compare
from reap.commandline.sections import Sectioned, section

pytestmark = pytest.mark.bare


@click.command(cls=Sectioned)
@click.option("--json", help="Of no heading.")
@section("Runs", click.option("--runs", help="How many."), click.option("--budget", help="How long."))
@section("A server", click.option("--server", help="Its command."))
@click.argument("command", nargs=-1)
def example(**given):
    """Prints what it got."""
    click.echo(str(given))


def test_options_are_listed_under_their_headings_and_the_others_last():
    said = CliRunner().invoke(example, ["--help"]).output
    order = ["Runs:", "--runs", "--budget", "A server:", "--server", "Options:", "--json", "--help"]
    assert all(said.index(one) < said.index(other) for one, other in pairwise(order))
    assert "'runs': '3'" in CliRunner().invoke(example, ["--runs", "3", "x"]).output


def test_each_option_is_listed_once():
    said = reap("compare", "--help").stdout.partition("\nSeveral programs")[2]
    listed = re.findall(r"^  (?:-\w, )?(--[a-z-]+)", said, re.MULTILINE)
    flags = {max(each.opts, key=len) for each in compare.params if isinstance(each, click.Option)}
    assert sorted(listed) == sorted(flags | {"--help"})
    assert "\nA server under load (with --server):\n  --server CMD" in said
