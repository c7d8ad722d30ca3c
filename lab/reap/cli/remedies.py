"""Remedies of a verdict, tried where they can be: what `reap wall` does after it has said its verdict."""

from collections.abc import Iterator
from pathlib import Path

import click

from reap.allocators import catalog
from reap.cli import walls
from reap.cli.experiments import Terminal
from reap.cli.progress import Bar
from reap.diagnosis import wall_trial
from reap.diagnosis.wall_records import WallVerdict
from reap.experiment.records import Comparison

_RUNS = "remedies"
_CHUNK = 1 << 20


def tried(
    verdict: WallVerdict,
    command: list[str],
    folder: Path,
    *,
    allocator: str | None,
    budget: float | None,
    timeout: float | None,
) -> tuple[WallVerdict, Comparison | None]:
    """The verdict with what came of its remedies; as it was where none can be tried. Throws ReapError."""
    base = catalog.parse(allocator)[0] if allocator else None
    stdin = folder / walls.INPUT
    planned = wall_trial.plan(verdict, base=base)
    if not planned.allocators:
        for said in planned.missing:
            click.echo(said, err=True)
        return verdict, None
    names = ", ".join(each.name for each in planned.allocators)
    click.echo(f"trying {names} (--no-try leaves that out)", err=True)
    begun = wall_trial.begin(
        folder / _RUNS,
        command,
        planned,
        budget=budget or wall_trial.BUDGET,
        timeout=timeout,
        stdin=_chunks(stdin) if stdin.exists() else None,
    )
    with begun as runs, Bar() as bar:
        return wall_trial.tried(verdict, runs, planned, Terminal(bar))


def _chunks(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk
