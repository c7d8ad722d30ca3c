"""`reap run`: the whole answer for one program."""

from pathlib import Path
from typing import Any

import click

from reap.cli import compare as comparing
from reap.cli import reporting
from reap.cli.progress import Bar
from reap.diagnosis import answer as answering
from reap.report.records import Answer

_PATH = click.Path(path_type=Path, dir_okay=False)
_FOLDER = click.Path(path_type=Path, file_okay=False)
_SECONDS = click.FloatRange(min=0, min_open=True)

REPORT = "report.html"
"""The report's name in the folder of a run."""


@click.command()
@click.option("-a", "--allocators", help="Names or NAME=/path/lib.so, separated by commas.")
@click.option("-n", "--runs", type=click.IntRange(min=2), help="Rounds of the comparison.")
@click.option("--budget", type=_SECONDS, help="Seconds for all runs of the comparison together.")
@click.option("--timeout", type=_SECONDS, help="Seconds for one run.")
@click.option("--prepare", default="", metavar="CMD", help="Shell command before each run, not measured.")
@click.option("--cleanup", default="", metavar="CMD", help="Shell command after each run, not measured.")
@click.option(
    "-o", "--output", type=_FOLDER, help="Folder for all of it (a new reap-NAME-TIME here if not given)."
)
@click.option("--resume", type=_FOLDER, help="Go on with what was begun in this folder.")
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON, too.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@click.pass_context
def run(
    context: click.Context,
    /,
    command: tuple[str, ...],
    output: Path | None,
    resume: Path | None,
    json_file: Path | None,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; Options says their types
) -> int:
    r"""Is memory allocation what holds this program back? The whole answer.

    Records one run of CMD in triage, then compares allocators over many runs, and says in plain words what
    came of it: leave it alone, switch the allocator, allocate less, or cannot tell. CMD should do the same
    each time; its output is compared and discarded.

    Exits with CMD's own status, or 1 if an allocator changed its status or its output.

    \b
        reap run -- perl script.pl
    """
    reporting.refuse_existing(json_file, force=force)
    if resume:
        folder = comparing.reopen("run", resume, list(command), comparing.given(context))
    else:
        folder = comparing.create(
            list(command), output, comparing.Options(baseline="glibc", **options), force=force
        )
    with folder, Bar() as bar:
        title = reporting.name_of(folder.spec.program.command)
        findings = answering.answer(folder, comparing.Terminal(bar), title=title)
    answer = Answer(
        title=title,
        command=folder.spec.program.command,
        profile=findings.profile,
        comparison=findings.comparison,
        diagnosis=findings.diagnosis,
    )
    from rich.console import Console

    from reap.report.terminal import render_answer

    # The report of a resumed run replaces the one that it had.
    report = reporting.report_of(answer)
    reporting.write_files(report, json=None, html=folder.path / REPORT, force=True)
    reporting.write_files(report, json=json_file, html=None, force=force)
    render_answer(Console(), answer)
    reporting.say_files(json=json_file, html=folder.path / REPORT)
    reporting.say_next(["reap", "show", str(folder.path / answering.RECORDING)])
    return comparing.exit_code(findings.comparison)
