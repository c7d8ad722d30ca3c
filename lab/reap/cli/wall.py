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
    help="Write the results as JSON.",
)
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a report as one HTML file.",
)
@click.option("--no-try", is_flag=True, help="Say what would help, and try none of it.")
@click.option(
    "--budget",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds for trying remedies; the usual is a minute.",
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
    html_file: Path | None,
    no_try: bool,
    budget: float | None,
    force: bool,
) -> int:
    """Is a program at the allocator's wall? Where its time goes, what the cause is, and what helps.

    CMD runs twice, its output discarded: once with nothing loaded into it, sampled from outside, and once
    more to count its allocations; a third time where it has a garbage collector. Then what would help is
    tried in pairs with the program as it is. With --pid a running process is watched through the kernel
    alone, and nothing is tried.

    Exits with CMD's own status.

    \b
        reap wall -- perl script.pl
        reap wall --pid 1234 --seconds 30
    """  # noqa: D301 - click wants the character itself
    from rich.console import Console

    from reap.cli import remedies, reporting, walls
    from reap.diagnosis.wall import judge
    from reap.report import terminal_wall, terminal_wall_verdict

    reporting.refuse_existing(json_file, html_file, force=force)
    with walls.folder(output, command, pid, force=force) as path:
        measured = walls.measured(command, pid, seconds, allocator, timeout, path)
        walls.write(path, measured)
    console, verdict, comparison = Console(), judge(measured.wall), None
    terminal_wall.render(console, measured.wall)
    console.print()
    terminal_wall_verdict.render(console, verdict)
    if command and not no_try and measured.status == 0:
        verdict, comparison = remedies.tried(
            verdict, list(command), path, allocator=allocator, budget=budget, timeout=timeout
        )
        terminal_wall_verdict.render_trial(console, verdict)
    walls.report(measured, verdict, comparison, json_file, html_file, force=force)
    walls.say(path, measured, verdict, json_file, html_file)
    return measured.status
