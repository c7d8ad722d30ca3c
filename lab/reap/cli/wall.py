"""`reap wall`: is a program at the allocator's wall?"""

from pathlib import Path

import click

_SECONDS = click.FloatRange(min=0, min_open=True)
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--pid", type=click.IntRange(min=1), help="Watch this process, which runs already.")
@click.option("--seconds", type=_SECONDS, default=10, show_default=True, help="How long with --pid.")
@click.option("-a", "--allocator", help="Run it under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--try/--no-try", "tries", default=True, help="Try the remedies at once (the usual), or not.")
@click.option("--budget", type=_SECONDS, default=60, show_default=True, help="Seconds to try remedies in.")
@click.option("--calls", is_flag=True, help="Count system calls by strace where nothing else can.")
@click.option("--timeout", type=_SECONDS, help="Seconds until a run is ended.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    help="Folder for what was seen (a new reap-wall-NAME-TIME here if not given).",
)
@click.option("--json", "json_file", type=_FILE, help="Write the results as JSON, too; - is standard output.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def wall(
    command: tuple[str, ...],
    pid: int | None,
    seconds: float,
    allocator: str | None,
    tries: bool,
    budget: float,
    calls: bool,
    timeout: float | None,
    output: Path | None,
    json_file: Path | None,
    force: bool,
) -> int:
    """Where a program's time goes: is it at the allocator's wall, and what helps?

    CMD runs twice, its output discarded: once with nothing loaded into it, sampled from outside, and once
    more to count its allocations (a third time, if it has a garbage collector, to hear that). Then the
    verdict, and what would help is tried, in pairs with the program as it is. With --pid a running process is
    watched through the kernel alone, and nothing is tried.

    Exits with CMD's own status.

    \b
        reap wall -- perl script.pl
        reap wall --pid 1234 --seconds 30
    """  # noqa: D301 - click wants the character itself
    from reap.cli import walls
    from reap.commandline import reporting

    reporting.refuse_existing(json_file, force=force, made=output)
    console = reporting.console(json_file)
    with walls.folder(output, command, pid, force=force) as path:
        asked = walls.Asked(command, pid, seconds, allocator, timeout, budget, calls, path)
        measured = walls.measured(asked)
        part = walls.judged(asked, measured)
        walls.write(asked, part, json_file, force=force)
    walls.show(console, part)
    if tries:
        part = walls.tried(asked, part, console, json_file)
    walls.say(asked, part, json_file)
    return measured.status
