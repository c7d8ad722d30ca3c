"""`reap compare`: allocators compared on one program, and on fragmented heaps where levels are asked for."""

from pathlib import Path
from typing import Any, get_args

import click

from reap.answer import files
from reap.answer.records import Answer
from reap.base import redact
from reap.base.errors import ExitCode, ReapError
from reap.base.files import write_safely
from reap.commandline import reporting, servers
from reap.commandline.experiments import Terminal
from reap.commandline.progress import Bar
from reap.commandline.redact import redacting
from reap.compare import against, experiments, export, scan, words
from reap.compare import run as comparing
from reap.compare import servers as fitting
from reap.compare.levels import options as level_options
from reap.compare.levels import run as levels
from reap.compare.levels.part import LevelsPart
from reap.compare.levels.records import Fragmented
from reap.compare.part import ComparisonPart
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison, Objective

_DETAILS = "Print every table before the verdict."
_WITNESS = (
    "Also count the instructions of one run of each, after the rounds: by the processor where it lets us, "
    "else by callgrind, about 50 times as slow."
)
_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@redacting
@click.option("--export-csv", "csv_file", type=_PATH, help="Write the ratios as CSV; - is standard output.")
@click.option("--export-markdown", "markdown_file", type=_PATH, help="Write the ratios as a Markdown table.")
@click.option("--details", is_flag=True, help=_DETAILS)
@click.option(
    "--for",
    "objective",
    type=click.Choice(get_args(Objective)),
    default="time",
    show_default=True,
    help="What the verdict is on: time, or memory: settled (median of the second half of the run), mean over "
    "time, or peak.",
)
@click.option("--witness", type=click.Choice(["instructions"]), help=_WITNESS)
@servers.options
@servers.load_options
@against.options
@scan.option
@level_options.options
@experiments.options
def compare(
    context: click.Context,
    /,
    json_file: Path | None,
    html_file: Path | None,
    csv_file: Path | None,
    markdown_file: Path | None,
    details: bool,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; level_options.asked and experiments.opened say
) -> int:
    """Compare allocators on a program.

    Runs CMD many times, under each allocator in turn, and prints which is faster than the C library's malloc,
    with 95 % CIs; with --details also CPU time, wall time, peak memory and page faults as ratios. If an
    interval contains 1, the result is *inconclusive*. CMD should do the same work in each run; use --prepare
    for setup. Standard input is read once and given to every run; output is compared, then discarded.

    With --against it compares CMD with other commands, such as the program before and after a change, and
    with --scan with itself with other values of a parameter.

    With --server it compares a server under load: each round starts it under each allocator, waits until it
    is ready, and runs --load once to warm it up and --loads times more. Only the server's own processes are
    measured. Where the number of requests is known, CPU time per request is compared. --against compares two
    commands or settings of a server, each under the same load.

    With --naive or --naive-env it compares CMD with its own allocator and without, under each allocator.
    With --levels it also runs each variant and allocator on heaps fragmented like those of long-running
    processes (see `reap fragment`), with controls. The cost of littering is subtracted.

    Exits with CMD's own status under the baseline, or 1 if an allocator changed its status or its output, if
    none could be compared (as where --budget allows less than two rounds), or a heap could not be littered.

    \b
        reap compare --allocators glibc,jemalloc,mine=/path/libmine.so -- ./server --selftest
        reap compare --against './server-old --selftest' -- ./server --selftest
        reap compare --against-env MALLOC_ARENA_MAX=1 -- ./server --selftest
        reap compare --for settled -- ./server --selftest
        reap compare --scan threads=1,2,4 -- xz --threads={threads} --stdout file
        reap compare --server 'redis-server --port {port}' --ready tcp --load 'redis-benchmark -p {port} -q'
        reap compare --server ... --ready tcp --load ... --against-env MALLOC_ARENA_MAX=1
        reap compare --levels adv0,adv3 --naive-env PYTHONMALLOC=malloc -- python3 script.py
    """  # noqa: D301 - click wants the character itself
    tables = (csv_file, markdown_file)
    reporting.refuse_existing(json_file, html_file, *tables, force=force, made=options["output"])
    asked = level_options.asked(context, options)
    server = servers.asked(context, options)
    others = against.asked(options, options["command"])
    if server is not None:
        server = fitting.beside(server, others)
        fitting.require_fitting(context, server, options)
    scanned = scan.asked(options)
    if others and scanned:
        raise ReapError("--scan and --against do not go together", "leave one out", ExitCode.USAGE)
    with (
        experiments.opened(
            context, force=force, asked=asked, against=others, scanned=scanned, server=server, **options
        ) as folder,
        Bar() as bar,
    ):
        listener = Terminal(bar)
        if folder.spec.fragment and any(tables):
            raise ReapError(
                "--export-csv and --export-markdown cannot be used with --levels or --naive",
                "use --json",
                ExitCode.USAGE,
            )
        result = levels.run(folder, listener) if folder.spec.fragment else comparing.compare(folder, listener)
    if isinstance(result, Comparison):
        return _finish(result, folder, json_file, html_file, tables, details=details, force=force)
    return _finish_levels(result, folder.path, json_file, html_file, details=details, force=force)


def _finish(
    comparison: Comparison,
    folder: Folder,
    json_file: Path | None,
    html_file: Path | None,
    tables: tuple[Path | None, Path | None],
    *,
    details: bool,
    force: bool,
) -> int:
    """Writes the files and names them, prints the comparison, and returns the exit code."""
    from reap.compare.terminal import render_tables, render_verdict

    title = reporting.name_of(comparison.command)
    answer = Answer(title=title, command=comparison.command, parts=[ComparisonPart(comparison=comparison)])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    for path, made in zip(tables, (export.as_csv, export.as_markdown), strict=True):
        if path is not None:
            write_safely(path, made(redact.shared(comparison)).encode(), force=force)
    console = reporting.console(json_file, html_file, *tables)
    if details:
        render_tables(console, comparison)
    _say_kept(folder.path, json_file, html_file, details=details)
    render_verdict(console, comparison)
    code = experiments.exit_code(comparison)
    if comparing.compares_nothing(comparison):
        what = "command" if comparison.against else "allocator"
        click.echo(f"no {what} could be compared: the reason is beside each", err=True)
        code = code or ExitCode.FAILED
    if needed := words.rounds_to_add(comparison):
        reporting.say_next(["reap", "compare", "--resume", str(folder.path), "--runs", str(needed)])
    elif folder.spec.server is not None:
        reporting.say_next(["reap", "run", *folder.spec.again])
    else:
        reporting.say_next(["reap", "record", "-o", f"{title}.reap", "--", *comparison.command])
    return code


def _say_kept(folder: Path, json_file: Path | None, html_file: Path | None, *, details: bool) -> None:
    """Names what was written, and the command that prints the tables, above the verdict."""
    reporting.say_files(json=json_file, html=html_file)
    reporting.say_written("the runs", folder)
    if not details:
        reporting.say_command("all tables", ["reap", "compare", "--resume", str(folder), "--details"])


def _finish_levels(
    result: Fragmented,
    folder: Path,
    json_file: Path | None,
    html_file: Path | None,
    *,
    details: bool,
    force: bool,
) -> int:
    """Writes the files and names them, prints the verdict, and returns the exit code."""
    from reap.compare.levels.judge import judge
    from reap.compare.levels.terminal import render_tables, render_verdict

    title = reporting.name_of(result.command)
    verdict = judge(result)
    part = LevelsPart(fragmented=result, fragmented_verdict=verdict)
    answer = Answer(title=title, command=result.command, parts=[part])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    console = reporting.console(json_file, html_file)
    if details:
        render_tables(console, result, verdict)
    _say_kept(folder, json_file, html_file, details=details)
    render_verdict(console, result, verdict)
    if result.clean:
        reporting.say_next(["reap", "wall", "--", *result.command])
    else:
        known = str(folder / levels.PROFILE)
        reporting.say_next(["reap", "fragment", "--profile", known, "--", *result.command])
    return ExitCode.FAILED if levels.differs(result) else result.exit_code
