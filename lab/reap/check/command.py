"""`reap check`: fail if a program exceeds its budget of allocations and memory."""

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reap.base import redact
from reap.base.errors import ExitCode, ReapError
from reap.base.text import message
from reap.commandline import outputs
from reap.commandline.size import SECONDS

if TYPE_CHECKING:
    from reap.check.asked import Asked
    from reap.check.records import Check, Measured
    from reap.launch.records import Launch, Outcome

_LIMITS = {
    "peak": ("SIZE", "Limit of the bytes in use at once, such as 200MB or 1.5GiB."),
    "bytes": ("SIZE", "Limit of the bytes allocated in total."),
    "live-at-exit": (
        "SIZE",
        "Limit of the bytes never freed; what the C and C++ libraries keep does not count.",
    ),
    "bytes-per-mark": ("SIZE", "Limit of bytes in each marked request."),
    "allocations": ("N", "Limit of the number of allocations."),
    "temporary": ("N", "Limit of allocations that are freed before the same thread allocates again."),
    "allocs-per-mark": ("N", "Limit of allocations in each marked request (reap/mark.h, reap.mark)."),
}


class _Check(click.Command):
    """A command whose budget file stands before `--`, and the program after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the program's own words away from the options."""
        own, program = args, []
        if "--" in args:
            at = args.index("--")
            own, program = args[:at], args[at + 1 :]
        ctx.meta["program"] = program
        return super().parse_args(ctx, own)


def _limits(verb: Any) -> Any:  # noqa: ANN401 - as click's decorators
    for figure, (metavar, said) in reversed(_LIMITS.items()):
        verb = click.option(f"--max-{figure}", metavar=metavar, help=said)(verb)
    return verb


@click.command(cls=_Check)
@_limits
@click.option(
    "--fail-if",
    "growth",
    metavar="'METRIC > +N'",
    multiple=True,
    help="Limit of the growth over the baseline, such as 'peak > +5 %'; may be given again.",
)
@click.option("--baseline", type=outputs.FILE, help="File with the figures of earlier runs.")
@click.option("--update", is_flag=True, help="Write the baseline from these runs.")
@click.option(
    "--suppress",
    metavar="GLOB",
    multiple=True,
    help="Functions whose blocks may be live at exit; may be given again.",
)
@click.option(
    "--accept-unrecorded",
    metavar="GLOB",
    multiple=True,
    help="Programs and libraries that need not be recorded, by the name of their file; may be given again.",
)
@click.option(
    "-n",
    "--runs",
    type=click.IntRange(1, 1000),
    help="A limit is exceeded if every run exceeds it; fewer are made once none can be (default: 1).",
)
@click.option(
    "-d",
    "--depth",
    type=click.Choice(["triage", "full"]),
    help="full (the default) counts everything; triage costs less, and estimates all but totals.",
)
@click.option("-a", "--allocator", help="Check it under this allocator: a name, or NAME=/path/lib.so.")
@click.option("--timeout", type=SECONDS, help="Seconds until CMD is stopped.")
@click.option("-o", "--output", type=outputs.FILE, help="Keep the recording of the last run.")
@click.option(
    "--junit", "junit_file", type=outputs.FILE, help="Write a JUnit file: a test case for each limit."
)
@click.option(
    "--github/--no-github",
    default=None,
    help="Print annotations of GitHub Actions (default: where GITHUB_ACTIONS is set).",
)
@outputs.json
@outputs.html
@outputs.force
@click.argument("budget", required=False, type=outputs.FILE, metavar="[BUDGET.toml] -- CMD...")
@click.pass_context
def check(context: click.Context, /, **given: Any) -> int:  # noqa: ANN401 - click's values
    """Fail if a program exceeds its budget of allocations and memory.

    Limits come from options, or from a budget file in TOML. CMD is recorded, on this terminal; its standard
    output is its own, and what Reap says goes to standard error.

    Exits with CMD's own status where that is not 0, else with 1 if a limit is exceeded, else with 3 if a
    part of the program was not recorded: what is not measured does not pass. Children get the recorder also
    where their environment drops it; with REAP_KEEP_ENVIRONMENT=1 environments stay as they are.

    \b
        reap check --max-peak 200MB --max-live-at-exit 0 -- ./server
        reap check budget.toml --junit reap.xml -- ./tests
    """  # noqa: D301 - click wants the character itself
    from reap.check.asked import understood
    from reap.commandline.stdin import spooled_file

    asked = understood(given, context.meta["program"])
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="reap-check-")))
        stdin = stack.enter_context(spooled_file(spool=asked.runs > 1))
        return _checked(asked, asked.output or folder / "check.reap", stdin)


def _checked(asked: "Asked", path: Path, stdin: str) -> int:
    from reap.check import judge
    from reap.check.run import run
    from reap.commandline import reporting
    from reap.launch import program as programs
    from reap.recording.record import LostError, told

    reporting.refuse_existing(asked.json, asked.html, asked.junit, asked.output, force=asked.force)
    reporting.require_file(asked.output)
    found = programs.resolve(asked.command)
    programs.require_preloadable(found)
    lost = ""
    try:
        runs, outcome = run(
            _launch(asked, found.command, found.path, stdin),
            path,
            asked.depth,
            asked.suppress,
            asked.accept,
            runs=asked.runs,
            enough=lambda so_far: not asked.update and judge.settled(asked.limits, so_far),
            say=lambda text: click.echo(f"reap: {message(text)}", err=True),
        )
    except LostError as error:
        runs, outcome, lost = [], error.outcome, error.what
    status = reporting.say_end(found.command[0], outcome, asked.timeout)
    if outcome.timed_out:
        reporting.say_hang(_launch(asked, found.command, found.path, stdin), "record")
    for said in told(outcome, asked.output):
        click.echo(f"note: {message(said)}", err=True)
    result = _result(asked, found.command, runs, outcome, status, lost)
    _write(asked, result, path)
    _tell(asked, result)
    if status:
        return status
    if asked.update and not result.missing:
        _update(asked, result, runs)
    if result.exceeded:
        return ExitCode.FAILED
    return ExitCode.NOT_MEASURED if result.missing else ExitCode.OK


def _launch(asked: "Asked", command: list[str], program: str, stdin: str) -> "Launch":
    from reap.allocators import catalog
    from reap.launch.records import Launch

    chosen = catalog.parse(asked.allocator) if asked.allocator else []
    if len(chosen) > 1:
        raise ReapError("only one allocator can be checked at a time", "name one", ExitCode.USAGE)
    return Launch(
        argv=command,
        program=program,
        allocator=chosen[0].library if chosen else "",
        capture=False,
        timeout=asked.timeout,
        stdin=stdin,
    )


def _result(
    asked: "Asked", command: list[str], runs: "list[Measured]", outcome: "Outcome", status: int, lost: str
) -> "Check":
    """`lost` says what became of a recording that cannot be read; empty if there is none."""
    from reap.check import judge
    from reap.check.records import Check
    from reap.commandline import reporting

    found = [judge.judged(each, runs) for each in asked.limits] if not status and not lost else []
    # A run that keeps a limit and was recorded whole decides, also where an earlier one was not.
    unmeasured = runs if asked.update or any(each.verdict == "not measured" for each in found) else []
    unread = [f"{lost[0].upper()}{lost[1:]}."] if lost and not status else []
    return Check(
        program=reporting.name_of(command),
        command=command,
        depth=asked.depth,
        runs=len(runs),
        runs_at_most=asked.runs,
        seconds=sum(each.seconds for each in runs) if runs else outcome.wall_ns * 1e-9,
        status=status,
        judged=found,
        suppressed=runs[-1].suppressed if runs else [],
        baseline=str(asked.baseline_file or ""),
        notes=judge.notes(runs, asked.limits, asked.baseline, asked.depth) if runs else unread,
        coverage=runs[-1].coverage if runs else None,
        missing=list(dict.fromkeys(reason for run in unmeasured for reason in run.missing)) or unread,
        to_accept=judge.to_accept(unmeasured),
    )


def _write(asked: "Asked", result: "Check", path: Path) -> None:
    from reap.answer import files
    from reap.answer.part import Part
    from reap.answer.records import Answer
    from reap.base.files import write_safely
    from reap.check.part import CheckPart
    from reap.check.view.junit import junit

    if asked.junit is not None:
        write_safely(asked.junit, junit(redact.shared(result)), force=asked.force)
    if asked.json is None and asked.html is None:
        return
    parts: list[Part] = [CheckPart(check=result)]
    if asked.html is not None and result.runs and not result.status:
        parts += _recorded(path)
    answer = Answer(title=result.program, command=result.command, parts=parts)
    files.write_files(files.report_of(answer), json=asked.json, html=asked.html, force=asked.force)


def _recorded(path: Path) -> list[Any]:
    """Parts of the page of `reap show`, for the last run: where it allocates."""
    from reap.recording.analyse.profile import profile
    from reap.recording.naming import as_started
    from reap.recording.read import read
    from reap.show.analyse.flame import flame
    from reap.show.part import FlamePart, ProfilePart

    recording = read(path)
    stacks = flame(recording)
    shown: list[Any] = [ProfilePart(profile=as_started(profile(recording, [])))]
    return [*shown, FlamePart(flame=stacks)] if stacks else shown


def _tell(asked: "Asked", result: "Check") -> None:
    from rich.console import Console

    from reap.check.terminal import render
    from reap.check.view.github import annotations
    from reap.commandline import reporting

    if asked.github:
        for line in annotations(redact.shared(result)):
            click.echo(line, err=True)
    render(Console(stderr=True), result)
    reporting.say_files(json=asked.json, html=asked.html)
    if asked.junit is not None:
        reporting.say_written("JUnit", asked.junit)
    is_lost = bool(result.missing and not result.runs)
    if asked.output is not None and not is_lost:
        reporting.say_written("the recording", asked.output)
        reporting.say_next(["reap", "show", str(asked.output)])
    elif result.exceeded and asked.html is None:
        click.echo("to see where it allocates: add --html FILE, or keep the recording with -o FILE", err=True)


def _update(asked: "Asked", result: "Check", runs: "list[Measured]") -> None:
    from reap import __version__
    from reap.check.budget import write_baseline
    from reap.check.records import Baseline
    from reap.commandline import reporting

    assert asked.baseline_file is not None  # noqa: S101 - --update requires it
    figures = [{figure: held.value for figure, held in each.figures.items()} for each in runs]
    written = Baseline(reap_version=__version__, command=result.command, depth=asked.depth, runs=figures)
    write_baseline(asked.baseline_file, written)
    reporting.say_written("the baseline", asked.baseline_file)
