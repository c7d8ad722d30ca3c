"""`reap show`: show what a recording contains."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.text import message
from reap.commandline import outputs

if TYPE_CHECKING:
    from reap import native
    from reap.recording.analyse.calls import Calls

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("file", type=click.Path(path_type=Path))
@outputs.json
@outputs.html
@click.option("--callers", is_flag=True, help="Print who called each allocation site, as a tree.")
@click.option("--resolve", is_flag=True, help="Look up names that FILE lacks, and keep them in it.")
@click.option(
    "--sysroot",
    "sysroots",
    type=_FOLDER,
    multiple=True,
    metavar="DIR",
    help="With --resolve: look for modules at their paths below DIR.",
)
@click.option(
    "--debug-folder",
    "debug_folders",
    type=_FOLDER,
    multiple=True,
    metavar="DIR",
    help="With --resolve: look for debug files in DIR, by build id or name.",
)
@click.option("--live", is_flag=True, help="Watch a recording that another command is making.")
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=1.0,
    show_default=True,
    metavar="SECONDS",
    help="With --live: between two refreshes.",
)
@outputs.force
@click.pass_context
def show(
    context: click.Context,
    file: Path,
    json_file: Path | None,
    html_file: Path | None,
    callers: bool,
    resolve: bool,
    sysroots: tuple[Path, ...],
    debug_folders: tuple[Path, ...],
    live: bool,
    interval: float,
    force: bool,
) -> int:
    """Show what a recording contains.

    Counts, sizes, lifetimes, live and resident memory over time, where allocations come from, and the share
    of time spent executing in the allocator. Estimates from a triage recording have a 95 %
    confidence interval.

    A recording has the names of its functions itself. --resolve looks up those that it lacks: of recordings
    made by an earlier reap, or of files that were replaced before the recording ended. Files count only if
    they have the build id that was recorded. It looks in each DIR, at the recorded paths, where elfutils
    finds debug files, and asks the servers of DEBUGINFOD_URLS.

    FILE may also be a heap profile in the format of pprof, as Go writes it: its
    stacks are shown.

    --live shows a recording in progress each second: a view in a terminal, else lines on standard error. It
    only reads the file. q or Ctrl-C closes the view, and the recording goes on.

    \b
        reap show perl.reap
        reap show --live perl.reap
    """  # noqa: D301 - click wants the character itself
    from reap.answer import files
    from reap.answer.part import Part
    from reap.answer.records import Answer
    from reap.base import redact
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline import reporting
    from reap.commandline.written import written
    from reap.recording.analyse.profile import profile as analyse
    from reap.recording.naming import as_started
    from reap.recording.read import read
    from reap.show.analyse.flame import stacks
    from reap.show.live.steps import watch
    from reap.show.part import FlamePart, ProfilePart, SourcePart
    from reap.show.run import profile_of, source_of
    from reap.show.terminal import render

    if live:
        unused = sorted(written(context, _OF_A_WHOLE)) + (["--redact"] if redact.asked() else [])
        if unused:
            raise ReapError(
                f"{', '.join(unused)} must not be used with --live",
                shlex.join(["reap", "show", "--live", str(file)]),
                ExitCode.USAGE,
            )
        return watch(file, interval)
    if written(context, ("interval",)):
        raise ReapError("--interval requires --live", "add it", ExitCode.USAGE)
    if (sysroots or debug_folders) and not resolve:
        raise ReapError("--sysroot and --debug-folder require --resolve", "add it", ExitCode.USAGE)
    reporting.refuse_existing(json_file, html_file, force=force)
    foreign = profile_of(file)
    if foreign is not None:
        return _show_foreign(file, foreign, json_file, html_file, force=force)
    recording = _resolved(file, sysroots, debug_folders) if resolve else read(file)
    profile = as_started(analyse(recording, []))
    title = reporting.name_of(profile.command) if profile.command else file.stem
    parts: list[Part] = [ProfilePart(profile=profile)]
    if json_file or html_file:
        header = recording.header()
        graph, source = stacks(recording, source_of(header.start_unix_ns / 1e9 - header.lead))
        parts += [FlamePart(flame=graph)] if graph else []
        parts += [SourcePart(source=source)] if source else []
    answer = Answer(title=title, command=profile.command, parts=parts)
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    render(reporting.console(json_file, html_file), profile, callers=callers)
    reporting.say_files(json=json_file, html=html_file)
    if profile.attached is not None and profile.attached.from_start and profile.command:
        reporting.say_next(["reap", "wall", "--", *profile.command])
    elif profile.attached is not None and profile.processes:
        reporting.say_next(["reap", "wall", "--pid", str(profile.processes[0].pid)])
    elif profile.command:
        reporting.say_next(["reap", "compare", *_again(file, profile.command)])
    return 0


_OF_A_WHOLE = (
    *("json_file", "html_file", "callers", "resolve", "sysroots", "debug_folders"),
    "force",
)
"""Options that must not be used with --live."""


def _resolved(file: Path, sysroots: tuple[Path, ...], debug_folders: tuple[Path, ...]) -> "native.Recording":
    from reap.recording.resolve import resolve

    recording, notes = resolve(file, sysroots, debug_folders)
    for note in notes:
        click.echo(f"note: {message(note)}", err=True)
    return recording


def _show_foreign(
    file: Path, tree: "Calls", json_file: Path | None, html_file: Path | None, *, force: bool
) -> int:
    """Shows a profile of another tool: it has stacks alone."""
    from reap.answer import files
    from reap.answer.records import Answer
    from reap.commandline import reporting
    from reap.show.analyse.flame import of_calls
    from reap.show.part import FlamePart
    from reap.show.terminal import render_stacks

    graph = of_calls(tree)
    answer = Answer(
        title=tree.places[0].function,
        command=[tree.places[0].module or str(file)],
        parts=[FlamePart(flame=graph)] if graph else [],
    )
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    render_stacks(reporting.console(json_file, html_file), tree)
    reporting.say_files(json=json_file, html=html_file)
    return 0


def _again(file: Path, command: list[str]) -> list[str]:
    """Words for another command line to name the recorded program; a server with the load it was given."""
    from reap.experiment.folder import spec_beside

    spec = spec_beside(file)
    if spec is None or Path(spec.program.command[0]).name != Path(command[0]).name:
        return ["--", *command]
    return spec.again
