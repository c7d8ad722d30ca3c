"""`reap sweep`: programs under allocators, on one machine or on many."""

from pathlib import Path
from typing import Any

import click

from reap.commandline.redact import redacting
from reap.sweep import places

_FILE = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.argument("plan", required=False, type=_FILE)
@places.option
@click.option(
    "-o", "--output", type=_FOLDER, help="Folder for the runs (default: a new reap-runs/sweep-PLAN-TIME)."
)
@click.option("--resume", type=_FOLDER, help="Resume the sweep in this folder; PLAN is omitted.")
@click.option("--json", "json_file", type=_FILE, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_FILE, help="Write a report as one HTML file.")
@redacting
@click.option("--export-parquet", "parquet_file", type=_FILE, help="Write all runs as one Parquet file.")
@click.option("-f", "--force", is_flag=True, help="Replace files that exist.")
def sweep(**given: Any) -> int:  # noqa: ANN401 - click's; Asked takes it
    """Compare allocators on several programs, under several settings, and on many machines.

    PLAN is a TOML file that names programs, allocators, settings and kinds of machine. Each program is run in
    rounds, each on one machine: under every allocator in turn or at the same time, as `reap compare` does.
    The results are the effect of each allocator on each kind of machine, and for machines like these, with
    95 % CIs.

    Without an option the rounds run here, one after another. The others require Dask (reap[cluster]).
    Programs and inputs are copied to each worker. Each round is appended to a folder at once: after a kill or
    Ctrl-C, --resume goes on with it, here or elsewhere. A round whose worker is lost is run on another.

    Exits with 0 if all rounds were run, and with 1 if some could not be, or an allocator changed what a
    program does.

    \b
        reap sweep plan.toml
        reap sweep plan.toml --on ssh:alpha,beta,gamma --html sweep.html
        reap sweep --resume reap-runs/sweep-plan-20260101-120000 --on tcp://alpha:8786
    """  # noqa: D301 - click wants the character itself
    from reap.sweep import steps

    return steps.sweep(steps.Asked(places=places.Places.taken(given), **given))
