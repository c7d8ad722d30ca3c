"""`reap tune`: search an allocator's settings for those that suit one program."""

from pathlib import Path
from typing import Any, get_args

import click

from reap.allocators import catalog
from reap.allocators.knobs import MEMORY, Objective
from reap.allocators.records import Allocator
from reap.answer import files
from reap.answer.records import Answer
from reap.base.errors import ExitCode, ReapError
from reap.commandline import experiments, outputs, reporting, servers
from reap.commandline.progress import Bar
from reap.commandline.sections import Sectioned
from reap.commandline.stdin import spooled
from reap.commandline.written import written
from reap.compare.serving import ServerStarter
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions
from reap.tune import run as tuning
from reap.tune.part import TunePart
from reap.tune.plan import LEAST_RUNS
from reap.tune.records import Tuned
from reap.tune.spec import USUAL_RUNS, specify_search

_OWN = ("allocator", "objectives", "timeout", "prepare", "cleanup", "output", *servers.NAMES)


@click.command(cls=Sectioned)
@outputs.json
@outputs.html
@click.option(
    "--for",
    "objectives",
    multiple=True,
    type=click.Choice(get_args(Objective)),
    help="What to minimise; of memory its peak (memory), or settled (median of the second half of the run), "
    "or in the mean over time. [default: cpu, memory, and the tail latency of marked requests]",
)
@click.option(
    "-a", "--allocator", default="glibc", show_default=True, help="Whose settings: a name, or NAME=/path."
)
@click.option(
    "-n",
    "--runs",
    type=click.IntRange(min=LEAST_RUNS),
    default=USUAL_RUNS,
    show_default=True,
    help="Maximum number of runs of CMD; more runs detect smaller gains. The confirmation ends earlier once "
    "it is decided. With --resume: in all, of which those that are added confirm.",
)
@click.option("--details", is_flag=True, help="Print everything that was tried, above the verdict.")
@servers.options
@servers.load_options
@experiments.running
def tune(
    context: click.Context,
    /,
    details: bool,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
    **options: Any,  # noqa: ANN401 - click's; _opened says their types
) -> int:
    """Search an allocator's settings for those that suit a program.

    Tries the settings that an allocator reads from the environment (see docs/tuning.md): first all of them,
    then the best and milder variants of them. Separate paired rounds confirm the best candidate, with a
    confidence interval. Prints the environment variables that win in CPU time, tail latency or memory, or
    reports that none does. CMD should do the same work on each run.

    With --server it tries them on a server under load: each run is a start that --load loads once to warm it
    up and --loads times more, which count.

    Exits with CMD's own status, or 1 if a setting changed its status or its output.

    \b
        reap tune -- ./server --selftest
        reap tune --for settled -- ./server --selftest
        reap tune --for memory --allocator jemalloc -- python3 script.py
    """  # noqa: D301 - click wants the character itself
    reporting.refuse_existing(json_file, html_file, force=force, made=options["output"])
    with _opened(context, force=force, **options) as folder, Bar() as bar:
        server = folder.spec.server
        starter = ServerStarter(folder, server) if server else None
        tuned = tuning.tune(folder, experiments.Terminal(bar), starter)
    return _finish(tuned, folder.path, json_file, html_file, details=details, force=force)


def _finish(
    tuned: Tuned, folder: Path, json_file: Path | None, html_file: Path | None, *, details: bool, force: bool
) -> int:
    """Writes the files and names them, prints what was found, and returns the exit code."""
    from reap.tune.terminal import render_tables, render_verdict

    title = reporting.name_of(tuned.command)
    answer = Answer(title=title, command=tuned.command, parts=[TunePart(tuned=tuned)])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    console = reporting.console(json_file, html_file)
    if details:
        render_tables(console, tuned)
    reporting.say_files(json=json_file, html=html_file)
    reporting.say_written("the runs", folder)
    if not details:
        reporting.say_command("all tables", ["reap", "tune", "--resume", str(folder), "--details"])
    render_verdict(console, tuned)
    if any(each.is_open for each in tuned.findings):
        reporting.say_next(["reap", "tune", "--resume", str(folder), "--runs", str(2 * tuned.most)])
    elif not tuned.load:
        reporting.say_next(["reap", "run", "--", *tuned.command])
    return ExitCode.FAILED if tuned.differs else tuned.exit_code


def _opened(
    context: click.Context,
    command: tuple[str, ...],
    output: Path | None,
    resume: Path | None,
    *,
    force: bool,
    allocator: str,
    objectives: tuple[Objective, ...],
    runs: int,
    **given: Any,  # noqa: ANN401 - click's; `Conditions` says their types
) -> Folder:
    given |= {"command": command, "resume": resume}
    server = servers.asked(context, given)
    command = given.pop("command")
    del given["resume"]
    if server is not None and "tail" in objectives:
        raise ReapError(
            "--for tail does not go with --server: the times of its requests are not known",
            "--for cpu, or --for memory",
            ExitCode.USAGE,
        )
    if resume:
        folder = experiments.reopened("tune", resume, list(command), written(context, _OWN))
        if written(context, ("runs",)):
            try:
                folder.extend_search(runs)
            except ReapError:
                folder.close()
                raise
        return folder
    (chosen,) = _one(allocator)
    stdin = spooled() if server is None else None
    over_time = {"settled", "mean"} & set(objectives) and set(objectives) <= set(MEMORY)
    conditions = Conditions(
        stdin=stdin is not None, pairing="sequential" if over_time else "auto", resident=True, **given
    )
    spec = specify_search(list(command), chosen, objectives, runs, conditions=conditions, server=server)
    return Folder.create(output or experiments.new_folder(list(command)), spec, stdin, force=force)


def _one(text: str) -> list[Allocator]:
    chosen = catalog.parse(text)
    if len(chosen) != 1:
        raise ReapError(
            f"'{text}' names {len(chosen)} allocators; reap tune searches the settings of one",
            "name one, as in --allocator jemalloc; `reap compare` says which allocator suits the program",
            ExitCode.USAGE,
        )
    return chosen
