"""`reap soak`: whether memory grows over hours, and which part of it."""

from pathlib import Path
from typing import Any

import click

from reap.commandline import servers
from reap.commandline.redact import redacting

_PATH = click.Path(path_type=Path, dir_okay=False)
_POSITIVE = click.FloatRange(min=0, min_open=True)


@click.command()
@click.option("--pid", type=int, help="Observe this running process instead of starting a server.")
@click.option(
    "--hours",
    type=_POSITIVE,
    default=1.0,
    show_default=True,
    help="How long, in hours; with --resume together with what was observed before.",
)
@click.option(
    "--interval", type=_POSITIVE, default=1.0, show_default=True, help="Seconds between two snapshots."
)
@click.option(
    "--ask/--no-ask",
    default=True,
    show_default=True,
    help="Also query the server's allocator, from a thread inside it; --no-ask queries the kernel only.",
)
@click.option("-a", "--allocator", default="glibc", help="Run it under this: a name, or NAME=/path/lib.so.")
@click.option(
    "-o",
    "--output",
    type=_PATH,
    help="CSV file that each snapshot is appended to (default: a new file in reap-runs).",
)
@click.option("--resume", type=_PATH, help="Go on with this CSV file of an earlier soak.")
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@redacting
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@servers.options
@click.pass_context
def soak(context: click.Context, /, **given: Any) -> int:  # noqa: ANN401 - click's; Asked takes it
    """Find out whether memory grows over hours, and whether it is live or held by the allocator.

    A server is started, loaded again and again, and its process that uses the most CPU time is observed.
    Growth per hour is given with a 95 % confidence interval, for resident memory and for each part of it;
    the first fifth of the time is excluded as warm-up. Growth of less than 10 % of resident memory a day
    counts as none.

    Each snapshot is appended to a file at once: after a kill, a crash or Ctrl-C, --resume goes on with it,
    and observes a new start of the server, with a warm-up of its own.

    \b
        reap soak --server './server {port}' --ready tcp --load 'wrk http://localhost:{port}/' --hours 8
        reap soak --pid 4711 --hours 24
    """  # noqa: D301 - click wants the character itself
    from reap.soak import steps

    given["command"] = ()
    resume = given.pop("resume")  # which takes a server here, too: it is restarted
    server = servers.asked(context, given)
    return steps.soak(steps.Asked(server=server, resume=resume, **given))
