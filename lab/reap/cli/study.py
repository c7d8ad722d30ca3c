"""`reap study`: the papers made again on this machine."""

import click

from reap.cli.groups import Group
from reap.cli.study_allocator_wall import allocator_wall
from reap.cli.study_allocators import allocators
from reap.cli.study_ismm2026 import ismm2026
from reap.cli.study_oopsla2002 import oopsla2002


@click.group(cls=Group)
def study() -> None:
    """What Reap grew out of, made again on programs that anybody can install, and judged."""


study.add_command(allocator_wall)
study.add_command(allocators)
study.add_command(ismm2026)
study.add_command(oopsla2002)
