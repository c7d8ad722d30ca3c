"""Steps of a sweep: the workers, the folder, the answer and its files."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import unused, write_safely
from reap.base.text import message
from reap.commandline import reporting
from reap.commandline.experiments import Terminal
from reap.commandline.exports import by_ending
from reap.commandline.progress import Bar
from reap.sweep import analyse, cluster, export, folder, judge, terminal, worker
from reap.sweep import page as pages
from reap.sweep.folder import SweepFolder
from reap.sweep.places import Places
from reap.sweep.pool import Here, Pool
from reap.sweep.records import Sweep, SweepResult
from reap.sweep.run import Course, Driver


@dataclass(frozen=True, kw_only=True)
class Asked:
    """The place where a sweep runs, and the files that are asked for."""

    places: Places
    output: Path | None
    json_file: Path | None
    html_file: Path | None
    exports: tuple[Path, ...]
    force: bool


def begin(asked: Asked, make: Callable[[], Sweep], name: str) -> int:
    """Runs the sweep that `make` makes once files can be written, and answers from it. Throws ReapError."""
    _require(asked)
    kept_in = asked.output or unused(f"sweep-{name}")
    return _answered(asked, SweepFolder.create(kept_in, make(), force=asked.force))


def resume(asked: Asked, path: Path) -> int:
    """Runs what is left of a sweep, and answers from all that has ended. Throws ReapError."""
    if asked.output is not None:
        raise ReapError("--resume goes on in its own folder", "leave out --output", ExitCode.USAGE)
    _require(asked)
    return _answered(asked, SweepFolder.resume(path))


def result_of(opened: SweepFolder, course: Course) -> SweepResult:
    """Results of the blocks that have ended."""
    pairs = analyse.collected(folder.blocks(opened.path))
    cells = opened.sweep.cells
    return SweepResult(
        cells=[each.name for each in cells],
        baseline=cells[0].allocators[0].partition("=")[0],
        blocks=pairs.blocks,
        planned=max(course.planned, pairs.blocks),
        hosts=len({host for _, host in pairs.facts}),
        kinds=list(dict.fromkeys(kind for kind, _ in pairs.facts)),
        machines=list(pairs.facts.values()),
        effects=analyse.effects(pairs.of, cells),
        worth=cells[0].worth,
        dropped=list(pairs.dropped),
        notes=[*course.problems, *course.notes],
    )


def _require(asked: Asked) -> None:
    by_ending(asked.exports, export.FORMATS, "a sweep")
    reporting.refuse_existing(asked.json_file, asked.html_file, *asked.exports, force=asked.force)
    for path in asked.exports:
        reporting.require_file(path)
        export.require()


def _answered(asked: Asked, opened: SweepFolder) -> int:
    with opened:
        with Bar() as bar, _pool(asked.places, opened.sweep) as pool:
            course = Driver(opened, pool, Terminal(bar)).run()
        return _finish(asked, opened, course)


@contextlib.contextmanager
def _pool(places: Places, of: Sweep) -> Iterator[Pool]:
    if not places.on:
        try:
            yield Here(of)
        finally:
            worker.close()
        return
    with (
        places.client() as (client, count),
        contextlib.closing(cluster.Dask(client, of, count, shared=bool(places.local))) as pool,
    ):
        yield pool


def _finish(asked: Asked, opened: SweepFolder, course: Course) -> int:
    result = result_of(opened, course)
    answers = judge.judge(result)
    if asked.html_file is not None:
        page = pages.page(result, answers, ["reap", *sys.argv[1:]])
        write_safely(asked.html_file, page.encode(), force=asked.force)
    if asked.json_file is not None:
        reporting.write_plain(
            asked.json_file, "sweep", {"sweep": result, "answers": answers}, force=asked.force
        )
    for path, write in by_ending(asked.exports, export.FORMATS, "a sweep"):
        write(path, folder.blocks(opened.path), force=asked.force)
    if result.blocks:
        terminal.render(reporting.console(asked.json_file, asked.html_file), result, answers)
    for each in result.notes if not result.blocks else ():
        click.echo(f"reap: {message(each)}", err=True)
    if asked.html_file is not None:
        reporting.say_written("the report", asked.html_file)
    for path in asked.exports:
        reporting.say_written("all runs", path)
    reporting.say_written("the blocks", opened.path)
    if course.problems:
        reporting.say_command("to run what is missing", ["reap", "compare", "--resume", str(opened.path)])
        return ExitCode.FAILED
    return ExitCode.FAILED if result.dropped else ExitCode.OK
