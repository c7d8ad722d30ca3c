"""Steps of `reap rss`: a run, its end, and a line that shows its progress."""

import contextlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import click
import msgspec
from rich.console import Console

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.base.files import folder_for_programs
from reap.base.text import command_line, printable
from reap.commandline import reporting, servers
from reap.commandline.stdin import spooled_file
from reap.draw.terminal import line
from reap.launch import program as programs
from reap.launch.program import Program
from reap.launch.records import Launch
from reap.rss import commands, terminal
from reap.rss import page as pages
from reap.rss import run as watching
from reap.rss.judge import ResidenceVerdict, judge
from reap.rss.records import Residence, Taken
from reap.rss.trials import judge as trial_judge
from reap.rss.trials import terminal as trial_pages
from reap.rss.trials import words as trial_words
from reap.rss.trials.records import Trials
from reap.rss.trials.steps import measured
from reap.rss.watch import asking, require_interval
from reap.server.records import Server

_SECONDS = 10.0
"""For which a server is observed."""


class Live:
    """The last look at a process, on one line of a terminal; nothing where standard error is none."""

    def __init__(self) -> None:
        self._shown = sys.stderr.isatty()
        self._written = False

    def update(self, taken: Taken) -> None:
        """Shows the latest snapshot."""
        if self._shown:
            self._written = True
            click.echo(
                f"\r{units.duration(taken.seconds):>12}: {units.size(taken.resident):>10}", nl=False, err=True
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written:
            click.echo(err=True)


def prepare(
    command: list[str], allocator: str, timeout: float | None, interval: float
) -> tuple[Program, Launch]:
    """Prepares a launch. Throws ReapError if that fails, before a file of an earlier run is replaced."""
    require_interval(interval)
    chosen = catalog.parse(allocator)
    if len(chosen) != 1:
        raise ReapError("CMD runs under one allocator at a time", "name one", ExitCode.USAGE)
    found = programs.resolve(command)
    if chosen[0].library:
        programs.require_preloadable(found)
    for note in found.notes:
        click.echo(f"note: {note}", err=True)
    library = chosen[0].library
    return found, Launch(
        argv=found.command, program=found.path, allocator=library, capture=False, timeout=timeout
    )


def observe(
    server: Server,
    command: list[str],
    allocator: str,
    interval: float,
    seconds: float | None,
    path: Path,
    *,
    ask: bool,
    force: bool,
) -> Residence:
    """Observes a server under load, from its first load on. Throws ReapError."""
    program, _ = prepare(command, allocator, None, interval)
    with (
        watching.rows(path, force=force) as file,
        under_load(server, program, allocator, interval, ask=ask) as (pid, folder),
        Live() as live,
    ):
        return watching.process(pid, interval, seconds or _SECONDS, file, live.update, folder)


@contextlib.contextmanager
def under_load(
    server: Server, program: Program, allocator: str, interval: float, *, ask: bool
) -> Iterator[tuple[int, Path | None]]:
    """Its process that uses the most CPU time, and the folder where its allocator writes; None: not asked.

    Throws ReapError where the server or a load fails.
    """
    (chosen,) = catalog.parse(allocator)
    ask = ask and not program.obstacle
    with folder_for_programs("reap-rss-") as folder:

        def dressed(launch: Launch) -> Launch:
            return asking(launch, interval, folder) if ask else launch

        with servers.under_load(server, program, chosen, dressed) as pid:
            yield pid, folder if ask else None


def run(
    found: Program,
    launch: Launch,
    interval: float,
    file: TextIO,
    *,
    ask: bool,
    recording: Path | None,
    force: bool,
) -> tuple[list[Residence], Residence | None, int]:
    """Runs a command and watches it: its processes, the largest first, all together, and the exit status."""
    observed = watching.command(found, launch, interval, file, ask=ask, recording=recording, force=force)
    if recording is not None and recording.exists():
        reporting.say_written("the recording", recording)
    status = reporting.say_end(found.command[0], observed.outcome, launch.timeout)
    return observed.processes, observed.tree, status


def tried(
    command: list[str],
    allocator: str,
    path: Path,
    interval: float,
    timeout: float | None,
    budget: float | None,
    json_file: Path | None,
    html_file: Path | None,
    *,
    ask: bool,
    force: bool,
) -> int:
    """Observes a command once, tries remedies on it, and prints both; the command's status.

    All runs have the same standard input. Throws ReapError.
    """
    program, launch = prepare(command, allocator, timeout, interval)
    (base,) = catalog.parse(allocator)
    with spooled_file(spool=True) as stdin:
        launch = msgspec.structs.replace(launch, stdin=stdin)
        with watching.rows(path, force=force) as file:
            found, tree, status = run(program, launch, interval, file, ask=ask, recording=None, force=force)
        if status != 0:
            click.echo("note: its exit status is not 0; remedies are tried all the same", err=True)
        trials, best = measured(
            program,
            base,
            [*filter(None, [tree]), *found],
            path.with_name(f"{path.stem}-trials"),
            budget=budget,
            timeout=timeout,
            stdin=stdin,
            force=force,
        )
        drawn = best is not None and (html_file is not None or json_file is not None)
        remedied = with_remedy(program, launch, best, path, interval, ask=ask) if best and drawn else None
    finish(
        found,
        tree,
        path,
        json_file,
        html_file,
        force=force,
        command=command,
        trials=trials,
        remedied=remedied,
    )
    return status


def tried_server(
    server: Server,
    observed: Residence,
    command: list[str],
    allocator: str,
    path: Path,
    timeout: float | None,
    budget: float | None,
    *,
    force: bool,
) -> Trials:
    """Tries remedies on a server that was observed under load. Throws ReapError."""
    program = programs.resolve(command)
    (base,) = catalog.parse(allocator)
    folder = path.with_name(f"{path.stem}-trials")
    trials, _ = measured(
        program,
        base,
        [observed],
        folder,
        budget=budget,
        timeout=timeout,
        stdin="",
        force=force,
        server=server,
    )
    return trials


def with_remedy(
    program: Program, launch: Launch, arm: Allocator, path: Path, interval: float, *, ask: bool
) -> Residence | None:
    """The memory of all processes, or of the only one, with a remedy; None where that run failed.

    What the program prints is not shown again, and the snapshots are in a file of their own.
    """
    again = msgspec.structs.replace(
        launch,
        preloads=arm.preloads,
        allocator=arm.library,
        environment={**launch.environment, **arm.environment},
        options=arm.options,
        capture=True,
    )
    rows = path.with_name(f"{path.stem}-remedied.csv")
    click.echo(
        f"{printable(program.command[0])} runs once more with {arm.name}, to break its memory down", err=True
    )
    try:
        with watching.rows(rows, force=True) as file:
            observed = watching.command(program, again, interval, file, ask=ask)
    except ReapError as error:
        click.echo(f"note: {error.what}", err=True)
        return None
    return observed.tree or observed.processes[0]


def finish_trials(trials: Trials, json_file: Path | None, html_file: Path | None, *, force: bool) -> None:
    """Writes and prints trials alone, as of a resumed folder."""
    if html_file is not None:
        _write_page(html_file, [], trials, force=force)
    if json_file is not None:
        nothing: dict[str, object] = {"processes": [], "tree": None, "verdict": None, "remedied": None}
        reporting.write_plain(json_file, "rss", {**nothing, "trials": trials}, force=force)
    console = reporting.console(json_file, html_file)
    trial_pages.render(console, trials)
    _say_trials(console, trials)


def _say_trials(console: Console, trials: Trials) -> None:
    terminal.render_verdict(
        console, ResidenceVerdict(cause="nothing", sentences=trial_words.sentences(trials))
    )
    best = trial_judge.winner(trials)
    for said in trial_words.settings([best] if best else []):
        line(console, said)


def _write_page(
    file: Path,
    seen: list[tuple[str, Residence]],
    trials: Trials | None,
    remedied: Residence | None = None,
    *,
    force: bool,
) -> None:
    from reap.base.files import write_safely
    from reap.launch.host import machine

    title = "What does resident memory consist of?"
    page = pages.page(title, seen, ["reap", *sys.argv[1:]], machine.describe(), trials, remedied)
    write_safely(file, page.encode(), force=force)


def _name(residence: Residence) -> str:
    """The command as it would be typed, or the title that the process gave itself."""
    words = residence.command
    if residence.processes > 1:
        return f"{command_line(words)} ({residence.processes} processes, PSS)"
    return " ".join(words) if residence.custom_title else command_line(words)


def finish(
    found: list[Residence],
    tree: Residence | None,
    rows: Path,
    json_file: Path | None,
    html_file: Path | None,
    *,
    force: bool,
    command: list[str],
    after: Sequence[str] = (),
    trials: Trials | None = None,
    remedied: Residence | None = None,
) -> None:
    """Writes the files, prints the answer, and names the files and the next command.

    The answer is of `tree`, all processes together, where there were several at a time.
    `after` are words for `reap compare` next, of a server. Where a command was run, standard output is its
    own, and the answer goes to standard error.
    """
    first = tree or found[0]
    verdict = judge(first)
    if html_file is not None:
        seen = [(_name(each), each) for each in [*filter(None, [tree]), *found]]
        _write_page(html_file, seen, trials, remedied, force=force)
    if json_file is not None:
        results = {"processes": found, "tree": tree, "verdict": verdict, "trials": trials}
        reporting.write_plain(json_file, "rss", {**results, "remedied": remedied}, force=force)
    console = Console(stderr=True) if command else reporting.console(json_file, html_file)
    terminal.render(console, first)
    terminal.render_others(console, found if tree else found[1:])
    if html_file is not None:
        reporting.say_written("the report", html_file)
    reporting.say_written("all snapshots", rows)
    if trials is not None:
        trial_pages.render(console, trials)
        _say_trials(console, trials)
        terminal.render_sentences(console, verdict)
        return
    terminal.render_verdict(console, verdict)
    then = ["reap", "compare", *after] if after else commands.after(first, verdict, command)
    reporting.say_next(then)
