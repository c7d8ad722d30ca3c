"""`reap drag`: what it costs a program not to free at once."""

import tempfile
from pathlib import Path

import click

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option(
    "--depth",
    type=click.IntRange(2, 64),
    default=12,
    show_default=True,
    help="Frames of the stack that tell where an object comes from.",
)
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), help="Seconds until it is ended, times 20."
)
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON.")
@click.option("--html", "html_file", type=_PATH, help="Write a page as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def drag(
    command: tuple[str, ...],
    depth: int,
    timeout: float | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Show what it costs a program not to free at once.

    For every object: when it was allocated, last accessed, and freed. Total drag is the memory in use over
    time as a ratio to what it would be if each object were freed right after its last access; 1 is the
    least. CMD runs some ten times slower, on this terminal, under a Valgrind tool that is compiled on first
    use; its memory is served by Valgrind, and what it does stays the same. Exits with CMD's own status.

    \b
        reap drag --html drag.html -- perl script.pl
    """  # noqa: D301 - click wants the character itself
    from rich.console import Console

    from reap.analysis.drag import profile as analyse
    from reap.cli import reporting
    from reap.errors import ExitCode
    from reap.launch import drag as launching
    from reap.launch import drag_tool
    from reap.launch import program as programs
    from reap.launch.records import Launch
    from reap.report import terminal_drag
    from reap.trace.drag import read_all

    reporting.refuse_existing(json_file, html_file, force=force)
    found = programs.resolve(list(command))
    programs.require_preloadable(found)
    engine = drag_tool.ready(lambda words: click.echo(f"reap: {words}", err=True))
    launch = Launch(argv=found.command, program=found.path, capture=False, timeout=timeout)
    with tempfile.TemporaryDirectory(prefix="reap-drag-") as name:
        outcome = launching.run(launch, engine, Path(name), depth=depth)
        complaints = launching.complaints(Path(name))
        recordings = read_all(Path(name), launching.RECORDINGS, complaints)
        notes = [*launching.notes(found, outcome), *complaints]
    result = analyse(recordings, found.command, status=outcome.status, notes=notes)
    if html_file is not None:
        from reap.report.drag_page import write

        write(result, html_file, force=force)
    if json_file is not None:
        reporting.write_plain(json_file, result, force=force)
    terminal_drag.render(Console(stderr=True), result)
    if html_file is not None:
        reporting.say_written("the page", html_file)
    reporting.say_next(["reap", "record", "--depth", "full", "--", *found.command])
    if outcome.timed_out:
        click.echo(f"reap: {found.command[0]} was ended", err=True)
        return ExitCode.TIMED_OUT
    return outcome.status
