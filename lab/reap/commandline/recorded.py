"""A program that is to be recorded on this terminal."""

import shlex
from collections.abc import Sequence

import click

from reap.allocators import catalog
from reap.base.errors import ExitCode, ReapError
from reap.launch import program as programs
from reap.launch.records import Launch


def to_record(command: Sequence[str], allocator: str | None, timeout: float | None) -> Launch:
    """Its launch; prints what is noted of it. Throws ReapError where it cannot be recorded."""
    chosen = catalog.parse(allocator) if allocator else []
    if len(chosen) > 1:
        raise ReapError("only one allocator can be recorded at a time", "name one", ExitCode.USAGE)
    found = programs.resolve(list(command))
    if found.obstacle:
        outside = shlex.join(["reap", "record", "--via", "uprobe", "--", *found.command])
        raise ReapError(
            found.obstacle,
            f"watch it from outside, as root: {outside}; or {found.remedy}",
            ExitCode.NOT_EXECUTABLE,
        )
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    return Launch(
        argv=found.command,
        program=found.path,
        allocator=chosen[0].library if chosen else "",
        capture=False,
        timeout=timeout,
    )
