"""`reap fragment`: one run of a program on a fragmented heap."""

from __future__ import annotations  # what is imported late stands in annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from reap.commandline import outputs
from reap.commandline.litter import CUT_OFF
from reap.commandline.litter import option as litter_option
from reap.commandline.size import SECONDS
from reap.launch.litter import level as levels

if TYPE_CHECKING:
    from reap.fragment.run import FragmentRun
    from reap.launch.records import Launch


@click.command()
@click.option(
    "-l", "--level", default="adv3", help="adv0, adv1, adv3 (default), adv10, or MULTIPLIERxOCCUPANCY."
)
@litter_option(
    {"threads": click.BOOL}, "threads=no, allocated by the first thread, and not divided among all"
)
@click.option("--save-profile", type=outputs.FILE, help="Write the size profile, for --litter profile=FILE.")
@click.option(
    "--map", "mapped", is_flag=True, help="Run once more for a map of the heap: a figure in --html."
)
@click.option("-a", "--allocator", default="glibc", help="A name, or NAME=/path/lib.so.")
@click.option("--timeout", type=SECONDS, help="Time limit in seconds.")
@outputs.json
@outputs.html
@outputs.force
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
def fragment(
    command: tuple[str, ...],
    level: str,
    litter: dict[str, Any],
    save_profile: Path | None,
    mapped: bool,
    allocator: str,
    timeout: float | None,
    json_file: Path | None,
    html_file: Path | None,
    force: bool,
) -> int:
    """Run a program on a heap fragmented like that of a long-running process.

    Before CMD starts, its heap is littered with objects of the sizes that CMD itself allocates, and most of
    them are freed (adversarial allocation, ISMM 2026). The cost of this is subtracted from the results.
    Without a profile, CMD first runs once under the recorder, its output discarded, to learn the sizes.

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

    reporting.refuse_existing(json_file, html_file, save_profile, force=force)
    chosen = catalog.parse(allocator)
    if len(chosen) != 1:
        raise ReapError("a run has one allocator", "name one with --allocator", ExitCode.USAGE)
    litter_level = levels.one(level)
    profile_file, cut_off = litter.pop("profile", None), litter.pop("cut_off", CUT_OFF)
    found = programs.resolve(list(command))
    programs.require_preloadable(found)
    programs.require_litterable(found)
    with spooled_file(spool=profile_file is None or mapped) as stdin:
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
        littered = litter_of(profile, litter_level, **litter)
        result = fragmenting.fragment(found, launch, chosen[0], littered, profile)
        if mapped:
            result = _mapped(result, launch, found.image)
    if json_file is not None:
        reporting.write_plain(json_file, "fragment", result, force=force)
    if html_file is not None:
        page.write(result, html_file, force=force)
    render(Console(stderr=True), result)
    reporting.say_files(json=None, html=html_file)
    if save_profile is not None:
        reporting.say_written("the size profile", save_profile)
    known = save_profile or profile_file
    reporting.say_next(
        [
            "reap",
            "fragment",
            *(["--level", "adv3"] if litter_level.multiplier == 0 else ["--level", "adv0"]),
            *(["--allocator", allocator] if chosen[0].library else []),
            *(["--litter", f"profile={known}"] if known else []),
            "--",
            *found.command,
        ]
    )
    if result.run.outcome.timed_out:
        click.echo(f"reap: {found.command[0]} was ended after {timeout:g} s", err=True)
        return ExitCode.TIMED_OUT
    return result.run.outcome.status


def _mapped(result: FragmentRun, launch: Launch, image: str) -> FragmentRun:
    """The result with a map of the heap."""
    import msgspec

    from reap.fragment import heap_map

    return msgspec.structs.replace(result, heap=heap_map.take(launch, result.litter, image=image))
