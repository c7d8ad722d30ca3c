"""`reap fleet`: what thousands of recordings say together."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.commandline import outputs
from reap.commandline.label import LABEL

if TYPE_CHECKING:
    from reap.fleet.records import By, Measure

_KEYS = ("service", "version", "host")


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--by",
    type=click.Choice(["service", "version", "site", "host"]),
    default="service",
    show_default=True,
    help="What totals are shown for.",
)
@click.option(
    "--where",
    type=LABEL,
    multiple=True,
    help="Only recordings with this service, version or host. May be given again.",
)
@click.option(
    "--compare", nargs=2, metavar="OLD NEW", help="Show what grew between two versions of a service."
)
@click.option(
    "--of",
    "measure",
    type=click.Choice(["bytes", "allocations", "peak"]),
    default="bytes",
    show_default=True,
    help="With --compare: what is compared; bytes and allocations per second.",
)
@click.option(
    "--compact", type=outputs.FILE, help="Also write all rows that were read into one Parquet file."
)
@outputs.json
@outputs.html
@outputs.force
@click.pass_context
def fleet(
    context: click.Context,
    paths: tuple[str, ...],
    by: "By",
    where: tuple[tuple[str, str], ...],
    compare: tuple[str, str] | None,
    measure: "Measure",
    compact: Path | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Show what thousands of recordings allocate, by service, version, host or site.

    PATH is a folder, a pattern or a file: Parquet files that `reap export --to fleet` wrote, one for each
    recording, or that --compact put together. s3://BUCKET/PREFIX reads an S3-compatible store, with
    the credentials of the environment; nothing else is fetched over the network. A recording that is in
    several files counts once. Memory is bounded.

    --compare gives, for each site, the mean of two versions of a service and their difference with a 95 %
    confidence interval, over hosts or over recordings.

    Exits with 1 if a file was skipped, since it is damaged, truncated, or of a newer reap: each is named.

    \b
        reap record --label service=checkout --label version=1.5 -o now.reap -- ./server
        reap export --to fleet now.reap -o fleet/
        reap fleet fleet/ --by site --where service=checkout
        reap fleet fleet/ --compare 1.4 1.5
    """  # noqa: D301 - click wants the character itself
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline.written import written
    from reap.fleet import steps

    for key, _ in where:
        if key not in _KEYS:
            raise ReapError(
                f"--where {key}=... is not known", f"the keys are {', '.join(_KEYS)}", ExitCode.USAGE
            )
    if compare is None and written(context, ("measure",)):
        raise ReapError("--of requires --compare", "leave it out", ExitCode.USAGE)
    if compare is not None and compare[0] == compare[1]:
        raise ReapError(
            f"--compare {compare[0]} {compare[1]} names one version twice", "name two", ExitCode.USAGE
        )
    return steps.fleet(
        steps.Asked(
            paths=paths,
            by=by,
            where=where,
            compare=compare,
            measure=measure,
            compact=compact,
            json_file=json_file,
            html_file=html_file,
            force=force,
        )
    )
