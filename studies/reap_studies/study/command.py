"""`reap study`: reproduce published results on this machine."""

import click

from reap.api import Group
from reap_studies.study.allocator_wall.command import allocator_wall
from reap_studies.study.allocators.command import allocators
from reap_studies.study.ismm2026.command import ismm2026
from reap_studies.study.oopsla2002.command import oopsla2002


@click.group(cls=Group)
def study() -> None:
    """Reproduce the studies behind Reap on programs that anybody can install, and judge them."""


study.add_command(allocator_wall)
study.add_command(allocators)
study.add_command(ismm2026)
study.add_command(oopsla2002)
