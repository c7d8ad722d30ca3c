"""`reap diff`: what grew and shrank between two recordings, or two reports."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import beginning
from reap.base.text import message
from reap.commandline import outputs

if TYPE_CHECKING:
    from reap import native
    from reap.diff.judge import Allowed
    from reap.diff.records import Difference, Recorded
    from reap.recording.analyse.calls import Measure
    from reap.recording.records import Profile

_MEASURES = ("allocations", "bytes", "peak", "temporary", "live-at-exit")


@click.command()
@click.argument("before", type=click.Path(path_type=Path))
@click.argument("after", type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice(_MEASURES),
    default="bytes",
    show_default=True,
    help="The measure by which functions and stacks are shown, largest change first.",
)
@click.option(
    "--fail-if",
    "limits",
    metavar="'METRIC > +N'",
    multiple=True,
    help="Exit with 1 if a total grew by more: 'peak > +5 %', 'bytes > +10 MiB', 'allocations > +1000'. "
    "METRIC is one of those of --by. May be given again.",
)
@outputs.json
@outputs.html
@outputs.force
def diff(
    before: Path,
    after: Path,
    by: "Measure",
    limits: tuple[str, ...],
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Show what grew and shrank between two recordings, or two reports, of two builds.

    Totals, then the functions and stacks with the largest change. Stacks are matched by the names of
    functions and modules, never by address. Exact for recordings of `reap record --depth full`; of triage
    recordings, a change within its 95 % confidence interval is inconclusive. Reports are files of --json, of
    `reap compare`, `reap run` or `reap show`: their figures are compared, with intervals where runs were
    repeated.
    """
    from reap.answer import files
    from reap.answer.records import Answer
    from reap.commandline import reporting
    from reap.diff.judge import understood
    from reap.diff.part import DifferencePart
    from reap.diff.terminal import render

    allowed = [understood(text) for text in limits]
    reporting.refuse_existing(json_file, html_file, force=force)
    reports = [_is_report(file) for file in (before, after)]
    if any(reports):
        if not all(reports) or allowed:
            raise ReapError(
                "--fail-if requires recordings" if allowed else "a recording and a report cannot be compared",
                "name two recordings, or two files that --json wrote",
                ExitCode.USAGE,
            )
        return _diff_reports(before, after, json_file, html_file, force=force)
    found = _difference(before, after, by, allowed)
    title = f"{found.before.program} before and after"
    answer = Answer(title=title, command=found.after.command, parts=[DifferencePart(difference=found)])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    render(reporting.console(json_file, html_file), found)
    reporting.say_files(json=json_file, html=html_file)
    exceeded = [budget.text for budget in found.budgets if budget.verdict == "exceeded"]
    if exceeded:
        click.echo(f"reap: exceeded: {message('; '.join(exceeded))}", err=True)
    return ExitCode.FAILED if exceeded else ExitCode.OK


def _is_report(file: Path) -> bool:
    """Whether a file begins like JSON; no recording does. Its reader refuses what is no file."""
    return beginning(file, 64).lstrip().startswith(b"{")


def _diff_reports(
    before: Path, after: Path, json_file: Path | None, html_file: Path | None, *, force: bool
) -> int:
    from reap.answer import files
    from reap.answer.json import read_json
    from reap.answer.records import Answer
    from reap.commandline import reporting
    from reap.diff.analyse import results
    from reap.diff.part import ResultsPart
    from reap.diff.terminal import render_results

    old, new = (read_json(file, results.KINDS) for file in (before, after))
    found = results.changed((str(before), str(after)), old, new)
    if not found.figures:
        raise ReapError(
            f"{before} and {after} have no figure in common",
            "name two reports of the same programs, which have a recording or a comparison",
        )
    title = ", ".join(dict.fromkeys(each.program for each in found.figures))
    command = next(each.command for each in new.answers if each.title == found.figures[0].program)
    answer = Answer(title=f"{title} before and after", command=command, parts=[ResultsPart(changed=found)])
    files.write_files(files.report_of(answer), json=json_file, html=html_file, force=force)
    render_results(reporting.console(json_file, html_file), found)
    reporting.say_files(json=json_file, html=html_file)
    return ExitCode.OK


def _difference(before: Path, after: Path, by: "Measure", allowed: "list[Allowed]") -> "Difference":
    from reap.diff import judge
    from reap.diff.analyse import difference, joined
    from reap.diff.records import Difference
    from reap.recording.analyse.notes import missing
    from reap.recording.analyse.profile import profile
    from reap.recording.read import read

    recordings = read(before), read(after)
    for path, recording in zip((before, after), recordings, strict=True):
        if recording.header().attached:
            raise ReapError(
                f"{path} was recorded from outside (--pid, --via uprobe): what is in use is not known",
                "compare recordings of whole runs: reap record -o FILE -- CMD",
                ExitCode.USAGE,
            )
    profiles = [profile(recording, []) for recording in recordings]
    stacks = [joined.stacks_of(recording) for recording in recordings]
    old, new = (
        _recorded(path, recording, held, side.program)
        for path, recording, held, side in zip((before, after), recordings, profiles, stacks, strict=True)
    )
    if not any(held.totals.total_objects for held in profiles):
        raise ReapError(
            f"neither {before} nor {after} has an allocation, so there is no stack to compare",
            "record a program that allocates: reap record --depth full -o FILE -- CMD",
        )
    if allowed:
        judge.require_complete(old, new)
    both = joined.join(stacks[0], stacks[1])
    first, second = (
        difference.totals(recording, held, side)
        for recording, held, side in zip(recordings, profiles, stacks, strict=True)
    )
    changes = {str(measure): difference.change(first[measure], second[measure]) for measure in first}
    return Difference(
        before=old,
        after=new,
        by=by,
        totals=changes,
        functions=difference.functions(both, by),
        stacks=difference.stacks(both, by),
        flame=difference.flame(both),
        budgets=[judge.judged(each, changes[each.measure]) for each in allowed],
        limits=judge.limits(old, new, (missing(recordings[0]), missing(recordings[1]))),
    )


def _recorded(path: Path, recording: "native.Recording", held: "Profile", program: str) -> "Recorded":
    from reap.diff.analyse.joined import base_name
    from reap.diff.records import Recorded

    header = recording.header()
    return Recorded(
        file=str(path),
        program=base_name(program),
        command=held.command,
        depth=held.depth,
        seconds=held.seconds,
        allocations=held.totals.total_objects,
        complete=header.finished and header.stop_reason == 0 and not recording.damage(),
    )
