"""`reap compare`: allocators compared on one program, and on fragmented heaps where levels are asked for."""

from pathlib import Path
from typing import Any

import click

from reap.cli import experiments, reporting
from reap.cli.progress import Bar
from reap.errors import ExitCode
from reap.experiment import compare as comparing
from reap.experiment import matrix
from reap.experiment.matrix_records import Fragmented
from reap.experiment.records import Comparison
from reap.launch.callgrind import CACHES
from reap.report.records import Answer

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@click.option("--levels", help="On fragmented heaps, too: adv0,adv1,adv3,adv10 or MULTIPLIERxOCCUPANCY.")
@click.option("--naive", default="", metavar="CMD", help="With --levels: CMD without its own allocator.")
@click.option(
    "--naive-env", multiple=True, metavar="K=V", help="With --levels: what switches its allocator off."
)
@click.option("--profile", type=_PATH, help="With --levels: a size profile, or a recording to take it from.")
@click.option(
    "--cut-off",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    help="With --levels: leave out blocks of so many bytes and more.",
)
@click.option("--children", is_flag=True, help="With --levels: litter the programs that CMD executes, too.")
@click.option(
    "--layouts",
    type=click.IntRange(min=0, max=20),
    default=2,
    show_default=True,
    help="With --levels: other places of stack and libraries to try.",
)
@click.option(
    "--cache",
    type=click.Choice(list(CACHES)),
    help="With --levels: misses in simulated caches, too; fifty times as slow.",
)
@click.option("--huge-pages", is_flag=True, help="With --levels: all without huge pages, and with them.")
@experiments.options
def compare(
    context: click.Context,
    /,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
    levels: str | None,
    naive: str,
    naive_env: tuple[str, ...],
    profile: Path | None,
    cut_off: int,
    children: bool,
    layouts: int,
    huge_pages: bool,
    cache: str | None,
    **options: Any,  # noqa: ANN401 - click's; experiments.opened says their types
) -> int:
    """Compare allocators on a program.

    Runs CMD many times, under each allocator in turn, and prints CPU time, wall time, peak memory and page
    faults as ratios to the C library's malloc with 95 % intervals. Where an interval holds 1 it says `cannot
    tell`. CMD should do the same each time; use --prepare where it needs things set up. Standard input is
    read once and given to every run; output is discarded after it was compared.

    With --levels it runs the whole matrix of variants, allocators and heaps fragmented like those of
    long-running processes (see `reap fragment`), with its controls. The littering is off every clock.

    Exits with CMD's own status under the baseline, or 1 if an allocator changed its status or its output.

    \b
        reap compare --allocators glibc,jemalloc,mine=/path/libmine.so -- ./server --selftest
        reap compare --levels adv0,adv3 --naive-env PYTHONMALLOC=malloc -- python3 script.py
    """  # noqa: D301 - click wants the character itself
    reporting.refuse_existing(json_file, html_file, force=force)
    heaps = None
    if levels is not None:
        heaps = experiments.Heaps(
            levels=levels,
            naive=naive,
            naive_env=naive_env,
            profile=profile,
            cut_off=cut_off,
            children=children,
            layouts=layouts,
            huge_pages=huge_pages,
            cache=cache or "",
        )
    else:
        experiments.refuse_without_levels(context)
    with experiments.opened(context, force=force, heaps=heaps, **options) as folder, Bar() as bar:
        if folder.spec.matrix is not None:
            fragmented = matrix.run(folder, experiments.Terminal(bar))
        else:
            comparison = comparing.compare(folder, experiments.Terminal(bar))
    if folder.spec.matrix is not None:
        return finish_fragmented(fragmented, folder.path, json_file, html_file, force=force)
    return finish(comparison, folder.path, json_file, html_file, force=force)


def finish(
    comparison: Comparison, folder: Path, json_file: Path | None, html_file: Path | None, *, force: bool
) -> int:
    """Writes the files, prints the comparison, names the files, and returns the exit code."""
    from rich.console import Console

    from reap.report.terminal import render_comparison

    title = reporting.name_of(comparison.command)
    answer = Answer(title=title, command=comparison.command, comparison=comparison)
    reporting.write_files(reporting.report_of(answer), json=json_file, html=html_file, force=force)
    render_comparison(Console(), comparison)
    reporting.say_files(json=json_file, html=html_file)
    reporting.say_written("the runs", folder)
    reporting.say_next(["reap", "record", "-o", f"{title}.reap", "--", *comparison.command])
    return experiments.exit_code(comparison)


def finish_fragmented(
    result: Fragmented, folder: Path, json_file: Path | None, html_file: Path | None, *, force: bool
) -> int:
    """The same for an experiment on fragmented heaps."""
    from rich.console import Console

    from reap.diagnosis.resilience import judge
    from reap.report.terminal_matrix import render

    title = reporting.name_of(result.command)
    verdict = judge(result)
    answer = Answer(title=title, command=result.command, fragmented=result, resilience=verdict)
    reporting.write_files(reporting.report_of(answer), json=json_file, html=html_file, force=force)
    render(Console(), result, verdict)
    reporting.say_files(json=json_file, html=html_file)
    reporting.say_written("the runs", folder)
    known = str(folder / matrix.PROFILE)
    reporting.say_next(["reap", "fragment", "--profile", known, "--", *result.command])
    return ExitCode.FAILED if matrix.differs(result) else result.exit_code
