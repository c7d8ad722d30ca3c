"""`reap rss`: resident memory taken apart over time."""

from datetime import UTC, datetime
from pathlib import Path

import click

_PATH = click.Path(path_type=Path, dir_okay=False)
_SECONDS = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option("--pid", type=int, help="Look at this process, which runs already, instead of running CMD.")
@click.option("--seconds", type=_SECONDS, help="With --pid: how long; until it ends or Ctrl-C if not given.")
@click.option("--interval", type=_SECONDS, default=0.1, show_default=True, help="Seconds between two looks.")
@click.option(
    "--ask/--no-ask",
    default=True,
    show_default=True,
    help="Ask CMD's allocator, too, from a thread inside it; else the kernel alone.",
)
@click.option("-a", "--allocator", default="glibc", help="Run CMD under it: a name, or NAME=/path/lib.so.")
@click.option(
    "--record", type=_PATH, help="Record CMD in full into this file, too: live bytes under any allocator."
)
@click.option("--timeout", type=_SECONDS, help="Seconds until CMD is ended.")
@click.option(
    "-o", "--output", type=_PATH, help="CSV that every look is appended to (a new one if not given)."
)
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def rss(
    command: tuple[str, ...],
    pid: int | None,
    seconds: float | None,
    interval: float,
    ask: bool,
    allocator: str,
    record: Path | None,
    timeout: float | None,
    output: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Take a program's resident memory apart, over time.

    Says how much of it is live, free inside pages with live bytes, free below a pin at the top of the heap,
    held by the allocator, freed but not yet reclaimed (LazyFree), past malloc, files and stacks; and what
    would give it back.

    CMD runs once, on this terminal. The kernel is asked from outside, and CMD's allocator from a thread of
    ours inside it (glibc, jemalloc, tcmalloc; mimalloc in part). With --pid nothing enters the program, and
    live bytes cannot be told from what the allocator holds free. Exits with CMD's own status.

    \b
        reap rss -- ./server --selftest
        reap rss --pid 4711 --seconds 60
    """  # noqa: D301 - click wants the character itself
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline import reporting
    from reap.rss import run as watching
    from reap.rss import steps

    if (pid is None) == (not command):
        raise ReapError(
            "either a process or a command is looked at",
            "reap rss --pid N, or reap rss -- CMD",
            ExitCode.USAGE,
        )
    if pid is not None and record is not None:
        raise ReapError("a process that runs already cannot be recorded", "reap rss -- CMD", ExitCode.USAGE)
    if pid is None and seconds is not None:
        raise ReapError("--seconds is for --pid; CMD ends by itself", "use --timeout", ExitCode.USAGE)
    reporting.refuse_existing(json_file, html_file, force=force)
    reporting.require_file(output)
    reporting.require_file(record)
    name = f"pid{pid}" if pid is not None else reporting.name_of(list(command))
    path = output or Path(f"reap-rss-{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}.csv")
    if pid is not None:
        watching.require_process(pid, interval)
        with watching.rows(path, force=force) as file, steps.Live() as live:
            observed = watching.process(pid, interval, seconds, file, live.update)
        found, status = [observed], int(ExitCode.OK)
    else:
        program, launch = steps.prepare(list(command), allocator, timeout, interval)
        with watching.rows(path, force=force) as file:
            found, status = steps.run(program, launch, interval, file, ask=ask, recording=record, force=force)
    steps.finish(found, path, json_file, html_file, force=force, command=list(command))
    return status
