"""`reap study ismm2026`: custom allocation on fragmented heaps, the paper's conclusions judged."""

from datetime import UTC, datetime
from pathlib import Path

import click

from reap.errors import ExitCode, ReapError

_FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command()
@click.option(
    "--quick", "mode", flag_value="quick", help="In under 15 minutes; one fragmented level, few rounds."
)
@click.option("--full", "mode", flag_value="full", help="All levels and controls; takes hours.")
@click.option("-w", "--workloads", default="", help="Only these, separated by commas.")
@click.option("-o", "--output", type=_FOLDER, help="Folder for all of it (a new reap-ismm2026-TIME here).")
@click.option("--resume", type=_FOLDER, help="Go on with the study in this folder.")
def ismm2026(mode: str | None, workloads: str, output: Path | None, resume: Path | None) -> int:
    """Make Tables 1 to 4 and Figures 2 to 6 of ISMM 2026 again, and judge the paper's conclusions.

    Runs every workload that is installed (`reap workloads prepare`) with its own allocator and without, over
    glibc, jemalloc and mimalloc, on clean and on fragmented heaps. --quick or --full says how thoroughly.
    A study that was stopped goes on with --resume. Leave the machine alone meanwhile.

    \b
        reap study ismm2026 --quick
        reap study ismm2026 --quick --workloads chart-parser,rapidjson
    """  # noqa: D301 - click wants the character itself
    from rich.console import Console

    from reap.allocators import catalog
    from reap.allocators.records import Allocator
    from reap.cli import reporting
    from reap.cli.experiments import Terminal
    from reap.cli.progress import Bar
    from reap.experiment.runner import InterruptedRunError
    from reap.report import study as reporter
    from reap.study import ismm2026 as studying
    from reap.study.records import Mode

    if (mode is None) == (resume is None):
        raise ReapError(
            "a study is either begun or resumed",
            "reap study ismm2026 --quick, --full, or --resume FOLDER",
            ExitCode.USAGE,
        )
    if resume is not None:
        if workloads or output:
            raise ReapError(
                "--resume goes on with the study as it began; it takes neither --workloads nor --output",
                f"reap study ismm2026 --resume {resume}",
                ExitCode.USAGE,
            )
        place, plan = resume.absolute(), studying.resumed(resume)
        allocators = catalog.parse(",".join(plan.allocators))
    else:
        found = [catalog.find(name) for name in studying.ALLOCATORS]
        allocators = [each for each in found if isinstance(each, Allocator)]
        missing = [each for each in found if not isinstance(each, Allocator)]
        if missing:
            click.echo(f"left out: {', '.join(each.name for each in missing)}", err=True)
            click.echo(f"  to have them: {catalog.install_command(missing)}", err=True)
        chosen: Mode = "quick" if mode == "quick" else "full"
        names = [name.strip() for name in workloads.split(",") if name.strip()]
        plan = studying.plan(chosen, names, [each.name for each in allocators])
        place = (output or Path(f"reap-ismm2026-{datetime.now(UTC):%Y%m%d-%H%M%S}")).absolute()
        studying.begin(place, plan)
    try:
        with Bar() as bar:
            result = studying.run(place, plan, allocators, Terminal(bar))
    except InterruptedRunError as stopped:
        again = f"go on with: reap study ismm2026 --resume {place}"
        raise InterruptedRunError("stopped; all runs that ended are kept", again, stopped.code) from None
    written = reporter.write(result, place)
    reporter.render(Console(), result)
    for path in written:
        reporting.say_written("written", path)
    reporting.say_next(["xdg-open", str(place / reporter.PAGE)])
    return ExitCode.OK
