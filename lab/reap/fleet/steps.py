"""Steps of `reap fleet`: reading, the answer, its files and the next command."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from msgspec.structs import replace

from reap.base.errors import ExitCode, ReapError
from reap.base.files import write_safely, written_safely
from reap.base.text import message
from reap.commandline import reporting
from reap.fleet import page as pages
from reap.fleet import terminal
from reap.fleet.analyse import compared
from reap.fleet.records import By, Comparison, Fleet, Measure, Skipped
from reap.fleet.run import files, remote
from reap.fleet.run.questions import Questions
from reap.fleet.run.store import Store, opened
from reap.launch.host import machine
from reap.recording import rows

_NAMED = 10
"""Files that could not be read, each on a line."""


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The command line."""

    paths: tuple[str, ...]
    by: By
    where: tuple[tuple[str, str], ...]
    compare: tuple[str, str] | None
    measure: Measure
    compact: Path | None
    json_file: Path | None
    html_file: Path | None
    force: bool


def fleet(asked: Asked) -> int:
    """Reads, prints and writes the answer. Throws ReapError."""
    reporting.refuse_existing(asked.json_file, asked.html_file, asked.compact, force=asked.force)
    reporting.require_file(asked.compact)
    found = files.named(asked.paths)
    with opened() as store:
        skipped = _read(store, found, asked)
        for each in skipped[:_NAMED]:
            click.echo(message(f"reap: skipped {each.file}: {each.why}"), err=True)
        if len(skipped) > _NAMED:
            click.echo(f"reap: skipped {len(skipped) - _NAMED} more files; --json names all", err=True)
        if len(skipped) == len(found):
            raise ReapError(
                f"none of {len(found)} files could be read",
                "reap export --to fleet RECORDING writes such files",
            )
        questions = Questions(store, asked.where)
        answer = questions.totals(asked.by, len(found), skipped)
        if asked.compare is not None:
            answer = replace(answer, comparison=_comparison(questions, asked.compare, asked.measure))
    _answer(asked, answer)
    return ExitCode.FAILED if skipped else ExitCode.OK


def _read(store: Store, found: list[Path | remote.Object], asked: Asked) -> list[Skipped]:
    with _compacted(asked.compact, force=asked.force) as keep, _progress(len(found)) as seen:
        return store.read(found, seen, keep)


@contextlib.contextmanager
def _compacted(path: Path | None, *, force: bool) -> Iterator[Callable[[Any], None]]:
    """Takes the rows that are to be in one file."""
    if path is None:
        yield lambda _rows: None
        return
    arrow = rows.arrow("--compact")
    options = {"compression": "zstd", "write_page_checksum": True}
    with (
        written_safely(path, force=force) as stream,
        arrow.parquet.ParquetWriter(stream, rows.schema(arrow), **options) as writer,
    ):
        waiting: list[Any] = []

        def write() -> None:
            if waiting:
                writer.write_table(arrow.concat_tables(waiting))
                waiting.clear()

        def keep(table: Any) -> None:  # noqa: ANN401 - of a package without types
            waiting.append(table)
            if sum(each.num_rows for each in waiting) >= files.ROWS:
                write()

        yield keep
        write()
    reporting.say_written("all rows", path)


@contextlib.contextmanager
def _progress(count: int) -> Iterator[Callable[[int], None]]:
    """On a terminal, how many files were read."""
    if not sys.stderr.isatty():
        yield lambda _done: None
        return
    with click.progressbar(length=count, label="reading", file=sys.stderr) as line:
        yield lambda done: line.update(done - line.pos)


def _comparison(questions: Questions, versions: tuple[str, str], measure: Measure) -> Comparison:
    service = questions.service_of(versions)
    unit: Literal["host", "recording"] = "host" if questions.by_host(service, versions) else "recording"
    sides, sites = questions.rates(service, versions, measure, unit)
    if len(sides) < len(set(versions)):
        raise ReapError(
            f"the {measure} of {service} is not known: these are recordings of running processes",
            "compare bytes or allocations with --of",
            ExitCode.USAGE,
        )
    before, after = (sides[version] for version in versions)
    total, changed = compared(before, after, sites, versions)
    return Comparison(
        service=service,
        before=versions[0],
        after=versions[1],
        measure=measure,
        unit=unit,
        units_before=before.units,
        units_after=after.units,
        total=total,
        sites=changed[: files.MOST],
    )


def _answer(asked: Asked, answer: Fleet) -> None:
    if asked.html_file is not None:
        page = pages.page(answer, ["reap", *sys.argv[1:]], machine.describe())
        write_safely(asked.html_file, page.encode(), force=asked.force)
    if asked.json_file is not None:
        reporting.write_plain(asked.json_file, "fleet", answer, force=asked.force)
    terminal.render(reporting.console(asked.json_file, asked.html_file), answer)
    if asked.html_file is not None:
        reporting.say_written("the report", asked.html_file)
    _say_next(asked, answer)


def _say_next(asked: Asked, answer: Fleet) -> None:
    """From services to their sites."""
    if asked.compare is None and asked.by in {"service", "version"}:
        most = answer.groups[0]
        where = [
            word for key, value in asked.where if key != "service" for word in ("--where", f"{key}={value}")
        ]
        again = ["--by", "site", "--where", f"service={most.service}", *where]
        reporting.say_next(["reap", "fleet", *asked.paths[:3], *again])
