"""`reap rss`: what resident memory consists of, over time."""

from pathlib import Path
from typing import Any

import click

from reap.base.files import unused
from reap.commandline import outputs, servers
from reap.commandline.sections import Sectioned
from reap.commandline.size import SECONDS
from reap.server import words as server_words


@click.command(cls=Sectioned)
@click.option("--pid", type=int, help="Observe this running process instead of running CMD.")
@click.option(
    "--seconds",
    type=SECONDS,
    help="With --pid (default: until it ends or Ctrl-C) or --server (10): how long.",
)
@click.option(
    "--hours",
    type=SECONDS,
    help="With --pid or --server: watch for so many hours, and find out whether memory grows.",
)
@click.option(
    "--interval", type=SECONDS, help="Seconds between two snapshots. [default: 0.1; with --hours 1]"
)
@click.option(
    "--ask/--no-ask",
    default=True,
    show_default=True,
    help="Also query CMD's allocator, from a thread inside CMD; --no-ask queries the kernel only.",
)
@click.option("-a", "--allocator", default="glibc", help="Run CMD under it: a name, or NAME=/path/lib.so.")
@click.option(
    "--record",
    type=outputs.FILE,
    help="Also record CMD in full into this file: gives live bytes under any allocator.",
)
@click.option(
    "--timeout", type=SECONDS, help="Seconds until CMD is stopped; with --server until it must be ready."
)
@click.option(
    "--try",
    "tries",
    is_flag=True,
    help="Run CMD again with each remedy, and measure what it gives in settled memory and costs in CPU time.",
)
@click.option(
    "--budget", type=SECONDS, help="With --try: seconds for all runs together. [default: about a minute]"
)
@click.option(
    "--resume",
    type=click.Path(path_type=Path),
    help="With --try: resume the trials in this folder; CMD may be omitted. With --hours: go on with this "
    "CSV file of an earlier watch.",
)
@click.option(
    "-o",
    "--output",
    type=outputs.FILE,
    help="CSV file that each snapshot is appended to (default: a new file in reap-runs).",
)
@outputs.json
@outputs.html
@outputs.force
@servers.options
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def rss(
    context: click.Context,
    /,
    command: tuple[str, ...],
    pid: int | None,
    seconds: float | None,
    hours: float | None,
    interval: float | None,
    ask: bool,
    allocator: str,
    record: Path | None,
    timeout: float | None,
    tries: bool,
    budget: float | None,
    resume: Path | None,
    output: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
    **given: Any,  # noqa: ANN401 - click's; servers.asked takes it
) -> int:
    """Show what a program's resident memory consists of, over time.

    Reports how much of it is live, free inside pages with live bytes, free below a pin at the top of the
    heap, cached by the allocator, freed but not yet reclaimed (LazyFree), the heap of a runtime (CPython, V8,
    a JVM, Go, PHP), thread stacks, or files; and what would return it to the OS.

    CMD runs once, on this terminal. Reap queries the kernel from outside, and CMD's allocators from a thread
    inside CMD (glibc, jemalloc, tcmalloc; mimalloc and snmalloc in part), those that are linked into its
    files too. Children have that thread also where their environment drops it; with REAP_KEEP_ENVIRONMENT=1
    environments stay as they are. Several processes are summed by PSS. With --pid the process and those
    below it are observed, and nothing is loaded into them: glibc's heaps are walked from outside, and live
    bytes of another allocator cannot be distinguished from what it holds free. With --server the process of
    the server that uses the most CPU time is observed, while --load runs again and again.

    With --try CMD runs again with each remedy that applies to it. Those that give most run in paired rounds,
    with 95 % confidence intervals; what was not tried is listed. CMD should do the same work on each run, and
    last until its memory has settled. With --server each run is a start of the server with its loads, and the
    cost is CPU time per request and latency or throughput.

    With --hours a server is loaded again and again, or a process watched, and growth per hour is given with a
    95 % confidence interval, for resident memory and for each part of it. The first fifth of the time is
    excluded as warm-up; growth of less than 10 % of resident memory a day counts as none. After a kill or
    Ctrl-C, --resume FILE goes on, with a new start of the server and a warm-up of its own.

    Exits with CMD's own status.

    \b
        reap rss -- ./server --selftest
        reap rss --try -- ./server --selftest
        reap rss --try --server 'redis-server --port {port}' --ready tcp --load 'redis-benchmark -p {port} -q'
        reap rss --pid 4711 --seconds 60
        reap rss --pid 4711 --hours 24
    """  # noqa: D301 - click wants the character itself
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline import reporting
    from reap.rss import run as watching
    from reap.rss import steps
    from reap.rss.trials import steps as trying

    if hours is not None:
        _require_hours(context)
        from reap.rss.growth.steps import Asked, watch_growth

        given["command"] = command
        return watch_growth(
            Asked(
                server=servers.asked(context, given),
                command=given["command"],
                pid=pid,
                hours=hours,
                interval=interval or 1.0,
                ask=ask,
                allocator=allocator,
                output=output,
                resume=resume,
                json_file=json_file,
                html_file=html_file,
                force=force,
            )
        )
    interval = interval or 0.1
    _require_try(tries=tries, budget=budget, resume=resume, pid=pid, record=record)
    if resume is not None:
        reporting.refuse_existing(json_file, html_file, force=force)
        steps.finish_trials(trying.resumed(resume, command), json_file, html_file, force=force)
        return ExitCode.OK
    given["command"] = command
    server = servers.asked(context, given)
    command = given["command"]
    if (pid is None) == (not command):
        raise ReapError(
            "give either a process or a command",
            "reap rss --pid N, or reap rss -- CMD",
            ExitCode.USAGE,
        )
    if pid is not None and record is not None:
        raise ReapError("a running process cannot be recorded", "reap rss -- CMD", ExitCode.USAGE)
    if pid is not None and timeout is not None:
        raise ReapError("--timeout stops CMD, and --pid starts none", "use --seconds", ExitCode.USAGE)
    if server is not None and record is not None:
        raise ReapError("a server under load cannot be recorded", "reap rss -- CMD", ExitCode.USAGE)
    if pid is None and server is None and seconds is not None:
        raise ReapError(
            "--seconds requires --pid or --server; CMD ends by itself", "use --timeout", ExitCode.USAGE
        )
    reporting.refuse_existing(json_file, html_file, force=force)
    reporting.require_file(output)
    reporting.require_file(record)
    name = f"pid{pid}" if pid is not None else reporting.name_of(list(command))
    if pid is not None:
        watching.require_process(pid, interval)
    path = output or unused(f"rss-{name}", ".csv")
    if pid is not None:
        with watching.rows(path, force=force) as file, steps.Live() as live:
            found, tree = watching.tree(pid, interval, seconds, file, live.update)
        status = int(ExitCode.OK)
    elif server is not None:
        again = server_words.options(server, command)
        observed = steps.observe(
            server, list(command), allocator, interval, seconds, path, ask=ask, force=force
        )
        trials = (
            steps.tried_server(server, observed, list(command), allocator, path, timeout, budget, force=force)
            if tries
            else None
        )
        steps.finish(
            [observed],
            None,
            path,
            json_file,
            html_file,
            force=force,
            command=[],
            after=again,
            trials=trials,
        )
        return ExitCode.OK
    elif tries:
        return steps.tried(
            list(command),
            allocator,
            path,
            interval,
            timeout,
            budget,
            json_file,
            html_file,
            ask=ask,
            force=force,
        )
    else:
        program, launch = steps.prepare(list(command), allocator, timeout, interval)
        with watching.rows(path, force=force) as file:
            found, tree, status = steps.run(
                program, launch, interval, file, ask=ask, recording=record, force=force
            )
    steps.finish(found, tree, path, json_file, html_file, force=force, command=list(command))
    return status


def _require_try(
    *, tries: bool, budget: float | None, resume: Path | None, pid: int | None, record: Path | None
) -> None:
    """Throws ReapError for options that do not go with --try, or that require it."""
    from reap.base.errors import ExitCode, ReapError

    if not tries and resume is not None:
        raise ReapError("--resume requires --try or --hours", "name what is resumed", ExitCode.USAGE)
    if not tries and budget is not None:
        raise ReapError("--budget requires --try", "reap rss --try -- CMD", ExitCode.USAGE)
    if tries and (pid is not None or record is not None):
        raise ReapError(
            f"--try runs CMD again and does not go with {'--pid' if pid is not None else '--record'}",
            "reap rss --try -- CMD",
            ExitCode.USAGE,
        )


_OF_A_RUN = ("seconds", "record", "timeout", "tries", "budget")
"""Options that must not be used with --hours."""


def _require_hours(context: click.Context) -> None:
    """Throws ReapError for options that do not go with --hours."""
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline.written import written

    fitting = {"--timeout"} if context.params["server"] else set()
    if unused := sorted(written(context, _OF_A_RUN) - fitting):
        raise ReapError(f"{unused[0]} must not be used with --hours", "leave one out", ExitCode.USAGE)
