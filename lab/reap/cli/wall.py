"""`reap wall`: is a program at the allocator's wall?"""

from pathlib import Path

import click


@click.command()
@click.option("--pid", type=click.IntRange(min=1), help="Watch this process, which runs already.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0, min_open=True),
    default=10,
    show_default=True,
    help="How long with --pid.",
)
@click.option("-a", "--allocator", help="Run it under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds until it is ended.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for what was seen (a new reap-wall-NAME-TIME here if not given).",
)
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the facts as JSON to this file, too.",
)
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def wall(
    command: tuple[str, ...],
    pid: int | None,
    seconds: float,
    allocator: str | None,
    timeout: float | None,
    output: Path | None,
    json_file: Path | None,
    force: bool,
) -> int:
    """Where a program's time goes: the allocator, the kernel, locks, waiting.

    CMD runs twice, its output discarded: once with nothing loaded into it, sampled from outside, and once
    more to count its allocations. With --pid a running process is watched through the kernel alone.

    Exits with CMD's own status.

    \b
        reap wall -- perl script.pl
        reap wall --pid 1234 --seconds 30
    """  # noqa: D301 - click wants the character itself
    from rich.console import Console

    from reap.cli import reporting, walls
    from reap.report.terminal_wall import render

    reporting.refuse_existing(json_file, force=force)
    with walls.folder(output, command, pid, force=force) as path:
        measured = walls.measured(command, pid, seconds, allocator, timeout, path)
        walls.write(path, measured, json_file, force=force)
    render(Console(), measured.wall)
    walls.say(path, measured, json_file, command)
    return measured.status
