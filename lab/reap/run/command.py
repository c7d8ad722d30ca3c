"""`reap run`: the whole answer for one program."""

from pathlib import Path
from typing import Any

import click

from reap.answer import files
from reap.answer.records import Answer
from reap.base.errors import ExitCode, ReapError
from reap.commandline import outputs, reporting, servers
from reap.commandline.experiments import Terminal
from reap.commandline.progress import Bar
from reap.commandline.sections import Sectioned
from reap.compare import experiments
from reap.compare import servers as fitting
from reap.drag.exact import valgrind
from reap.evidence import trials
from reap.run import parts
from reap.run import run as running


@click.command(cls=Sectioned)
@outputs.json
@outputs.html
@click.option("--drag", is_flag=True, help="Also measure drag (adds one run, about 10x slower).")
@click.option("--details", is_flag=True, help="Print the evidence and every table before the verdict.")
@servers.options
@servers.load_options
@experiments.options
def run(
    context: click.Context,
    /,
    json_file: Path | None,
    html_file: Path | None,
    drag: bool,
    details: bool,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; experiments.opened says their types
) -> int:
    """Find out whether memory allocation slows a program down, and what to do about it.

    Watches one run of CMD with nothing loaded into it and records another. Then tries, in paired runs, other
    allocators and a malloc that costs next to nothing, and takes suspected causes away one at a time. The
    verdict comes from these trials: leave it alone, switch the allocator, change a setting (or one of both),
    allocate less, little to gain, or inconclusive. CMD should do the same work on each run; its output is
    compared and discarded. Children are recorded also where their environment drops the recorder; with
    REAP_KEEP_ENVIRONMENT=1 environments stay as they are.

    With --server it records and compares a server: loaded for the recording, of which --load is no part, then
    started again under each allocator, as `reap compare --server` does.

    Exits with CMD's own status, or 1 if an allocator changed its status or its output, or a server or its
    load failed.

    \b
        reap run -- perl script.pl
        reap run --server 'redis-server --port {port}' --ready tcp --load 'redis-benchmark -p {port} -q'
    """  # noqa: D301 - click wants the character itself
    reporting.refuse_existing(json_file, html_file, force=force, made=options["output"])
    server = servers.asked(context, options)
    if server is not None:
        fitting.require_fitting(context, server, options)
    if drag and server is not None:
        raise _no_drag()
    if drag and not options["resume"]:
        valgrind.require()  # before there is a folder for it
    with (
        experiments.opened(
            context, force=force, server=server, arms=trials.first, reserved=trials.RESERVED, **options
        ) as folder,
        Bar() as bar,
    ):
        experiments.refuse_levels(folder)
        if drag and folder.spec.server is not None:
            raise _no_drag()
        title = reporting.name_of(folder.spec.program.command)
        measured = running.measure(folder, Terminal(bar), title=title, with_drag=drag)
    answer = Answer(title=title, command=folder.spec.program.command, parts=parts.of_run(measured))

    from reap.run.terminal import render_answer

    # The report of a resumed run replaces the one that it had.
    report = files.report_of(answer)
    files.write_files(report, json=None, html=folder.path / running.REPORT, force=True)
    files.write_files(report, json=json_file, html=html_file, force=force)
    reporting.say_files(json=json_file, html=html_file or folder.path / running.REPORT)
    if measured.known.recorded:
        reporting.say_command("the recording", ["reap", "show", str(folder.path / running.RECORDING)])
    if not details and not measured.known.interrupted:
        reporting.say_command("all tables", ["reap", "run", "--resume", str(folder.path), "--details"])
    render_answer(reporting.console(json_file, html_file), answer, details=details)
    compared = measured.comparison
    if compared:
        return experiments.exit_code(compared)
    # A server ends by the signal that reap sends it.
    stopped = folder.spec.server is not None and not measured.known.interrupted
    return ExitCode.OK if stopped else measured.known.status


def _no_drag() -> ReapError:
    return ReapError(
        "--drag does not go with --server: a server would be too slow for its load",
        "leave it out; `reap drag` measures a script that starts and loads the server",
        ExitCode.USAGE,
    )
