"""Steps of `reap compare` on one program, and on fragmented heaps where levels are asked for."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from reap.answer import files
from reap.answer.records import Answer
from reap.base import redact
from reap.base.errors import ExitCode, ReapError
from reap.base.files import write_safely
from reap.commandline import reporting, servers
from reap.commandline.experiments import Terminal
from reap.commandline.exports import by_ending
from reap.commandline.progress import Bar
from reap.compare import against, experiments, export, scan, words
from reap.compare import run as comparing
from reap.compare import servers as fitting
from reap.compare.levels import options as level_options
from reap.compare.levels import run as levels
from reap.compare.levels.part import LevelsPart
from reap.compare.levels.records import Fragmented
from reap.compare.part import ComparisonPart
from reap.experiment.folder import Folder
from reap.experiment.records import Comparison


def compare(
    context: click.Context,
    /,
    json_file: Path | None,
    html_file: Path | None,
    exports: tuple[Path, ...],
    details: bool,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; level_options.asked and experiments.opened say
) -> int:
    """Runs the experiment that the options name, or what is left of it, and answers from it."""
    tables = by_ending(exports, export.FORMATS, "a comparison")
    reporting.refuse_existing(json_file, html_file, *exports, force=force, made=options["output"])
    heaps = level_options.asked(context, options)
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
            context, force=force, heaps=heaps, against=others, scanned=scanned, server=server, **options
        ) as folder,
        Bar() as bar,
    ):
        listener = Terminal(bar)
        if folder.spec.fragment and tables:
            raise ReapError(
                "--export cannot be used with --levels or --naive",
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
    tables: Sequence[tuple[Path, Callable[[Comparison], str]]],
    *,
    details: bool,
    force: bool,
) -> int:
    """Writes the files and names them, prints the comparison, and returns the exit code."""
    from reap.compare.terminal import render_tables, render_verdict

    title = reporting.name_of(comparison.command)
    answer = Answer(title=title, command=comparison.command, parts=[ComparisonPart(comparison=comparison)])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    for path, render in tables:
        write_safely(path, render(redact.shared(comparison)).encode(), force=force)
    console = reporting.console(json_file, html_file, *(path for path, _ in tables))
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
        reporting.say_next(["reap", "fragment", "--litter", f"profile={known}", "--", *result.command])
    return ExitCode.FAILED if levels.differs(result) else result.exit_code
