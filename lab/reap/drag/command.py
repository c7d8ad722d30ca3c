"""`reap drag`: how much memory a program holds after its last use."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

if TYPE_CHECKING:
    from reap.launch.program import Program
    from reap.launch.records import Launch, Outcome

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option(
    "--engine",
    type=click.Choice(["exact", "recompiled", "sample"]),
    default="exact",
    show_default=True,
    help="exact tracks every access; recompiled tracks code built with reap-drag-cc, five times faster; "
    "sample has an overhead of a few percent, and its results are estimates.",
)
@click.option(
    "--period",
    type=click.IntRange(1, 2**40),
    help="Mean bytes between two samples (sample only; default: a few percent overhead).",
)
@click.option(
    "--depth",
    type=click.IntRange(2, 64),
    help="Stack frames recorded per allocation site (exact only; default: 12).",
)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds until CMD is stopped; 20 times as many with exact.",
)
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a page as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def drag(
    command: tuple[str, ...],
    engine: Literal["exact", "recompiled", "sample"],
    period: int | None,
    depth: int | None,
    timeout: float | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Measure how much memory a program holds after its last use ("drag").

    Tracks when each object is allocated, last accessed, and freed. Total drag is the memory in use over time,
    divided by what it would be if each object were freed right after its last access; the minimum is 1. CMD
    runs about ten times slower, on this terminal, under a Valgrind tool that is compiled on first use.
    Valgrind serves its memory; its behaviour stays the same. Exits with CMD's own status.

    With --engine sample, a preloaded library samples objects and checks them periodically. It reports total
    drag with its confidence interval, and the sites that drag, with any allocator and little slowdown.

    \b
        reap drag --html drag.html -- perl script.pl
    """  # noqa: D301 - click wants the character itself
    from reap.commandline import reporting
    from reap.drag.exact.launch import SLOWER
    from reap.launch import program as programs
    from reap.launch.records import Launch

    if engine != "sample" and period is not None:
        raise click.UsageError("--period requires --engine sample")
    if engine != "exact" and depth is not None:
        raise click.UsageError("--depth requires --engine exact; the others keep twelve frames")
    reporting.refuse_existing(json_file, html_file, force=force)
    found = programs.resolve(list(command))
    programs.require_preloadable(found)
    launch = Launch(argv=found.command, program=found.path, capture=False, timeout=timeout)
    asked = _Asked(found=found, launch=launch, json_file=json_file, html_file=html_file, force=force)
    outcome = _sample(asked, period) if engine == "sample" else _record(asked, engine, depth)
    limit = timeout and timeout * SLOWER if engine == "exact" else timeout
    return reporting.say_end(found.command[0], outcome, limit)


@dataclass(frozen=True, kw_only=True)
class _Asked:
    found: Program
    launch: Launch
    json_file: Path | None
    html_file: Path | None
    force: bool


def _record(asked: _Asked, engine: Literal["exact", "recompiled"], depth: int | None) -> Outcome:
    from rich.console import Console

    from reap.commandline import reporting
    from reap.drag.exact import terminal
    from reap.drag.exact.run import DEPTH, measure

    result, outcome = measure(asked.launch, asked.found, _say, engine=engine, depth=depth or DEPTH)
    if asked.html_file is not None:
        from reap.drag.exact.page import write

        write(result, asked.html_file, force=asked.force)
    if asked.json_file is not None:
        reporting.write_plain(asked.json_file, result, force=asked.force)
    terminal.render(Console(stderr=True), result)
    if asked.html_file is not None:
        reporting.say_written("the page", asked.html_file)
    reporting.say_next(["reap", "record", "--depth", "full", "--", *asked.found.command])
    return outcome


def _sample(asked: _Asked, period: int | None) -> Outcome:
    from rich.console import Console

    from reap.base.files import folder_for_programs
    from reap.commandline import reporting
    from reap.drag.exact import launch as running
    from reap.drag.sample import run as launching
    from reap.drag.sample import terminal as terminal_drag_sample
    from reap.drag.sample.analyse import profile
    from reap.drag.sample.read import frames, read

    with folder_for_programs("reap-drag-") as folder:
        outcome = launching.run(asked.launch, folder, period=period)
        files = [read(path) for path in sorted(folder.glob(launching.FILES)) if not path.is_symlink()]
    result = profile(
        files, asked.found.command, frames, status=outcome.status, notes=running.unseen(asked.found)
    )
    if asked.html_file is not None:
        from reap.drag.sample.page import write

        write(result, asked.html_file, force=asked.force)
    if asked.json_file is not None:
        reporting.write_plain(asked.json_file, result, force=asked.force)
    terminal_drag_sample.render(Console(stderr=True), result)
    if asked.html_file is not None:
        reporting.say_written("the page", asked.html_file)
    reporting.say_next(["reap", "drag", "--", *asked.found.command])
    return outcome


def _say(words: str) -> None:
    click.echo(f"reap: {words}", err=True)
