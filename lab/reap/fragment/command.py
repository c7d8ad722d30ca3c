"""`reap fragment`: one run of a program on a fragmented heap."""

from __future__ import annotations  # what is imported late stands in annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from reap.launch.litter.level import Level, custom, named
from reap.launch.litter.records import DEFAULT_SEED, ORDERS

if TYPE_CHECKING:
    from reap.fragment.run import FragmentRun
    from reap.launch.records import Launch

_PATH = click.Path(path_type=Path, dir_okay=False)


@click.command()
@click.option("-l", "--level", default=None, help="adv0, adv1, adv3 (default) or adv10.")
@click.option(
    "--multiplier",
    type=float,
    help="Instead of a level: number of objects, as a multiple of the program's own peak.",
)
@click.option(
    "--occupancy", type=float, help="Instead of a level: share of the objects that stays allocated, 0 to 1."
)
@click.option(
    "--seed", type=int, default=DEFAULT_SEED, show_default=True, help="Random seed of the heap layout."
)
@click.option(
    "--order",
    type=click.Choice(ORDERS),
    default="random",
    show_default=True,
    help="Order in which blocks are freed.",
)
@click.option(
    "--touch/--no-touch", default=True, show_default=True, help="Write to every page of the litter."
)
@click.option("--children", is_flag=True, help="Also litter the programs that CMD executes.")
@click.option(
    "--threads/--no-threads",
    default=True,
    show_default=True,
    help="Divide the litter among the threads; otherwise the first thread allocates all of it.",
)
@click.option("--profile", "profile_file", type=_PATH, help="A size profile, or a recording to take it from.")
@click.option(
    "--cut-off",
    type=click.IntRange(min=1),
    default=4096,
    show_default=True,
    help="Ignore blocks of at least this many bytes.",
)
@click.option("--save-profile", type=_PATH, help="Write the size profile, for --profile.")
@click.option("--map", "map_file", type=_PATH, help="Run once more and draw a map of the heap (SVG).")
@click.option("-a", "--allocator", default="glibc", help="A name, or NAME=/path/lib.so.")
@click.option("--timeout", type=click.FloatRange(min=0, min_open=True), help="Time limit in seconds.")
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - is standard output.")
@click.option("--html", "html_file", type=_PATH, help="Write a report as one HTML file.")
@click.option("-f", "--force", is_flag=True, help="Replace what exists.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def fragment(
    command: tuple[str, ...],
    level: str | None,
    multiplier: float | None,
    occupancy: float | None,
    seed: int,
    order: str,
    touch: bool,
    children: bool,
    threads: bool,
    profile_file: Path | None,
    cut_off: int,
    save_profile: Path | None,
    map_file: Path | None,
    allocator: str,
    timeout: float | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Run a program on a heap fragmented like that of a long-running process.

    Before CMD starts, its heap is littered with objects of the sizes that CMD itself allocates, and most of
    them are freed (adversarial allocation, ISMM 2026). The cost of this is subtracted from the results.
    Without --profile, CMD first runs once under the recorder, its output discarded, to learn the sizes.

    CMD has this terminal; the answer goes to standard error. Exits with CMD's own status.

    \b
        reap fragment --level adv3 -- python3 script.py
    """  # noqa: D301 - click wants the character itself
    from rich.console import Console

    from reap.allocators import catalog
    from reap.base.errors import ExitCode, ReapError
    from reap.commandline import reporting
    from reap.commandline.stdin import spooled_file
    from reap.experiment.littering import litter_of
    from reap.fragment import page
    from reap.fragment import run as fragmenting
    from reap.fragment.terminal import render
    from reap.launch import program as programs
    from reap.launch.records import Launch

    reporting.refuse_existing(json_file, html_file, save_profile, map_file, force=force)
    chosen = catalog.parse(allocator)
    if len(chosen) != 1:
        raise ReapError("a run has one allocator", "name one with --allocator", ExitCode.USAGE)
    litter_level = _level(level, multiplier, occupancy)
    found = programs.resolve(list(command))
    programs.require_preloadable(found)
    programs.require_litterable(found)
    with spooled_file(spool=profile_file is None or map_file is not None) as stdin:
        launch = Launch(
            argv=found.command,
            program=found.path,
            allocator=chosen[0].library,
            stdin=stdin,
            capture=False,
            timeout=timeout,
        )
        if profile_file is not None:
            profile = fragmenting.load_profile(profile_file, cut_off=cut_off)
        else:
            profile = fragmenting.take_profile(launch, cut_off=cut_off)
        if save_profile is not None:
            from reap.base.files import write_safely
            from reap.recording.analyse.size_profile import encode

            write_safely(save_profile, encode(profile), force=force)
        litter = litter_of(
            profile,
            litter_level,
            seed=seed,
            order=next(each for each in ORDERS if each == order),
            touch=touch,
            children=children,
            threads=threads,
        )
        result = fragmenting.fragment(found, launch, chosen[0], litter, profile)
        if map_file is not None:
            result = _mapped(result, launch, found.image, map_file, force=force)
    if json_file is not None:
        reporting.write_plain(json_file, "fragment", result, force=force)
    if html_file is not None:
        page.write(result, html_file, force=force)
    render(Console(stderr=True), result)
    reporting.say_files(json=None, html=html_file)
    if save_profile is not None:
        reporting.say_written("the size profile", save_profile)
    if map_file is not None:
        reporting.say_written("the map", map_file)
    known = save_profile or profile_file
    reporting.say_next(
        [
            "reap",
            "fragment",
            *(["--level", "adv3"] if litter_level.multiplier == 0 else ["--level", "adv0"]),
            *(["--allocator", allocator] if chosen[0].library else []),
            *(["--profile", str(known)] if known else []),
            "--",
            *found.command,
        ]
    )
    if result.run.outcome.timed_out:
        click.echo(f"reap: {found.command[0]} was ended after {timeout:g} s", err=True)
        return ExitCode.TIMED_OUT
    return result.run.outcome.status


def _mapped(result: FragmentRun, launch: Launch, image: str, path: Path, *, force: bool) -> FragmentRun:
    """The result with a map of the heap, which is drawn into the file too."""
    import msgspec

    from reap.base import redact
    from reap.base.files import write_safely
    from reap.fragment import heap_map
    from reap.fragment.picture import draw

    heap = heap_map.take(launch, result.litter, image=image)
    title = f"{Path(result.command[0]).name} at {result.litter.level.name}, under {result.allocator}"
    write_safely(path, draw(heap, redact.shared(title)).encode(), force=force)
    return msgspec.structs.replace(result, heap=heap)


def _level(name: str | None, multiplier: float | None, occupancy: float | None) -> Level:
    from reap.base.errors import ExitCode, ReapError

    if multiplier is None and occupancy is None:
        return named(name or "adv3")
    if name is not None or multiplier is None or occupancy is None:
        raise ReapError(
            "a heap is described by --level, or by --multiplier and --occupancy together",
            "reap fragment --multiplier 3 --occupancy 0.66 -- CMD",
            ExitCode.USAGE,
        )
    return custom(multiplier, occupancy)
