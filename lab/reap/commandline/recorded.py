"""A program that is to be recorded on this terminal, and what it costs to watch one from outside."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from reap.allocators import catalog
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.launch import program as programs
from reap.launch.records import Launch

if TYPE_CHECKING:
    from reap.native import AttachOutcome


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


def say_attached(pid: int, outcome: "AttachOutcome") -> None:
    """Says what became of a running process that was watched, and what that cost it."""
    if outcome.ended:
        click.echo(f"note: process {pid} ended while it was watched", err=True)
    say_watched(outcome)


def say_watched(outcome: "AttachOutcome") -> None:
    """Says what watching cost."""
    if outcome.left_out:
        why = "they ended within some tenths of a second, or no allocator that is known was found"
        click.echo(
            f"note: {units.many(outcome.left_out, 'child process', 'es')} not watched: {why}", err=True
        )
    overhead = f"{units.percent(outcome.overhead)} of its CPU time"
    if outcome.call_ns > 0:
        each = units.duration(outcome.call_ns * 1e-9)
        click.echo(f"each call that met a probe cost the process {each}; all together {overhead}", err=True)
    else:
        click.echo(f"no call met a probe; the probes cost {overhead}", err=True)
