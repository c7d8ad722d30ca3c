"""Steps of `reap rss --hours`: the observing, the answer, its files and the next command."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from reap.base.errors import ExitCode, ReapError
from reap.base.files import unused, write_safely
from reap.commandline import reporting
from reap.launch.host import machine, memory
from reap.rss import run as residence
from reap.rss import steps as rss
from reap.rss import watch
from reap.rss.growth import analyse, terminal
from reap.rss.growth import page as pages
from reap.rss.growth import run as files
from reap.rss.growth.judge import GrowthVerdict, judge
from reap.rss.growth.records import Snapshot
from reap.rss.records import Residence
from reap.server import words as server_words
from reap.server.ready import free_ports
from reap.server.records import PORT, Server


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The command line."""

    server: Server | None
    command: tuple[str, ...]
    """The server's."""
    pid: int | None
    hours: float
    interval: float
    ask: bool
    allocator: str
    output: Path | None
    resume: Path | None
    json_file: Path | None
    html_file: Path | None
    force: bool


def watch_growth(asked: Asked) -> int:
    """Observes, prints and writes the answer. Throws ReapError; what was seen until then is told first."""
    _require(asked)
    path = asked.resume or asked.output or _new_file(asked)
    of = analyse.starts(files.snapshots(path)) if asked.resume else []
    left = asked.hours * 3600 - analyse.long(of)
    seen: Residence | None = None
    failure: ReapError | None = None
    if left > 0:
        with files.rows(path, resume=bool(asked.resume), force=asked.force) as file:
            seen, failure = _observed(asked, left, file)
        of = analyse.starts(files.snapshots(path)) if path.exists() else []
    if of:
        _answer(asked, path, of, seen)
    if failure is not None:
        raise failure
    return ExitCode.OK


def _require(asked: Asked) -> None:
    if (asked.pid is None) == (asked.server is None) or (asked.command and asked.server is None):
        raise ReapError(
            "give either a process or a server",
            "reap rss --hours H --pid N, or --server CMD --ready tcp --load CMD",
            ExitCode.USAGE,
        )
    if asked.resume is not None and asked.output is not None:
        raise ReapError("--resume goes on with its own file", "leave out --output", ExitCode.USAGE)
    watch.require_interval(asked.interval)
    if asked.pid is not None:
        residence.require_process(asked.pid, asked.interval)
    reporting.refuse_existing(asked.json_file, asked.html_file, force=asked.force)
    reporting.require_file(asked.output)
    reporting.require_file(asked.resume)


def _new_file(asked: Asked) -> Path:
    name = f"pid{asked.pid}" if asked.pid is not None else reporting.name_of(list(asked.command))
    return unused(f"rss-{name}", ".csv")


def _observed(asked: Asked, seconds: float, file: TextIO) -> tuple[Residence | None, ReapError | None]:
    """Memory that was seen; and the error with which the server or its load failed in the end."""
    seen: Residence | None = None
    try:
        with rss.Live() as live:
            if asked.server is None:
                assert asked.pid is not None  # noqa: S101 - one of the two was given
                return residence.process(asked.pid, asked.interval, seconds, file, live.update), None
            program, _ = rss.prepare(list(asked.command), asked.allocator, None, asked.interval)
            served = rss.under_load(asked.server, program, asked.allocator, asked.interval, ask=asked.ask)
            with served as (pid, folder):
                seen = residence.process(pid, asked.interval, seconds, file, live.update, folder)
    except ReapError as error:
        return seen, error
    return seen, None


def _answer(asked: Asked, path: Path, of: Sequence[Sequence[Snapshot]], seen: Residence | None) -> None:
    found = analyse.summary(of, seen, memory.available())
    verdict = judge(found)
    if asked.html_file is not None:
        page = pages.page(found, verdict, of, ["reap", *sys.argv[1:]], machine.describe())
        write_safely(asked.html_file, page.encode(), force=asked.force)
    if asked.json_file is not None:
        results = {"growth": found, "verdict": verdict}
        reporting.write_plain(asked.json_file, "growth", results, force=asked.force)
    terminal.render(reporting.console(asked.json_file, asked.html_file), found, verdict)
    if asked.html_file is not None:
        reporting.say_written("the report", asked.html_file)
    reporting.say_written("all snapshots", path)
    reporting.say_next(_next(asked, path, verdict))


def _next(asked: Asked, path: Path, verdict: GrowthVerdict) -> list[str]:
    server = server_words.options(asked.server, asked.command) if asked.server else []
    again = server or ["--pid", str(asked.pid)]
    if verdict.standing == "inconclusive":
        hours = f"{asked.hours + verdict.more_hours:.2g}"
        return ["reap", "rss", *again, "--hours", hours, "--resume", str(path)]
    if not server:
        return ["reap", "record" if verdict.standing == "grows" else "rss", *again]
    if verdict.cause == "live":  # who allocates it
        (port,) = free_ports(1)
        return ["reap", "record", "--", *(word.replace(PORT, str(port)) for word in asked.command)]
    return ["reap", "compare", *server]
