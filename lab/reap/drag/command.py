"""`reap drag`: how much memory a program holds after its last use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from reap.base.text import message
from reap.commandline import outputs
from reap.commandline.size import SECONDS

if TYPE_CHECKING:
    from reap.drag.engine import Engine


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
    type=SECONDS,
    help="Seconds until CMD is stopped; 20 times as many with exact.",
)
@click.option("--details", is_flag=True, help="Print every process and site, above the verdict.")
@outputs.json
@outputs.html
@outputs.force
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def drag(
    command: tuple[str, ...],
    engine: Literal["exact", "recompiled", "sample"],
    period: int | None,
    depth: int | None,
    timeout: float | None,
    details: bool,
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
    from rich.console import Console

    from reap.base.files import write_safely
    from reap.commandline import reporting
    from reap.drag.engine import measure
    from reap.launch import program as programs
    from reap.launch.records import Launch

    if engine != "sample" and period is not None:
        raise click.UsageError("--period requires --engine sample")
    if engine != "exact" and depth is not None:
        raise click.UsageError("--depth requires --engine exact; the others keep twelve frames")
    reporting.refuse_existing(json_file, html_file, force=force)
    found = programs.resolve(list(command))
    launch = Launch(argv=found.command, program=found.path, capture=False, timeout=timeout)
    chosen = _engine(engine, depth, period)
    seen, outcome = measure(chosen, launch, found, _say)
    if html_file is not None:
        write_safely(html_file, chosen.page(seen).encode(), force=force)
    if json_file is not None:
        schema = "drag-sample" if engine == "sample" else "drag"
        reporting.write_plain(json_file, schema, seen, force=force)
    console = Console(stderr=True)
    if details:
        chosen.render(console, seen)
        console.print()
    if html_file is not None:
        reporting.say_written("the page", html_file)
    chosen.render_verdict(console, seen)
    reporting.say_next(chosen.next_command(found.command))
    return reporting.say_end(found.command[0], outcome, timeout and timeout * chosen.slower)


def _engine(name: str, depth: int | None, period: int | None) -> Engine[Any]:
    from reap.drag.exact.engine import DEPTH, Exact, Recompiled
    from reap.drag.sample.engine import Sample

    if name == "sample":
        return Sample(period)
    return Recompiled() if name == "recompiled" else Exact(depth or DEPTH)


def _say(words: str) -> None:
    click.echo(f"reap: {message(words)}", err=True)
