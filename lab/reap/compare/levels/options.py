"""The options of `reap compare` for fragmented heaps, and what they say."""

from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline import words
from reap.commandline.sections import section
from reap.commandline.written import written
from reap.experiment.spec import COUNTERS
from reap.experiment.specify import AskedFragment
from reap.launch.litter import level
from reap.launch.litter.records import DEFAULT_SEED, ORDERS
from reap.launch.tools.callgrind import CACHES

CLEAN = "adv0"
"""The level at which nothing is littered."""


@dataclass(frozen=True, kw_only=True)
class LevelOptions:
    """The options; a resumed experiment takes none of them."""

    levels: str
    """Empty: clean heaps alone, to compare the program with its own allocator and without."""
    naive: str
    naive_env: tuple[str, ...]
    profile: Path | None
    cut_off: int
    children: bool
    seed: int
    order: str
    touch: bool
    layouts: int
    huge_pages: bool
    cache: str | None


NAMES = tuple(field.name for field in fields(LevelOptions))

_Verb = TypeVar("_Verb", bound=Callable[..., Any])


def options(verb: _Verb) -> _Verb:
    """Gives a verb these options; it hands them to `asked`."""
    own = section(
        "Its own allocator, and none",
        click.option(
            "--naive",
            default="",
            metavar="CMD",
            help="CMD with its custom allocator disabled, to compare with.",
        ),
        click.option(
            "--naive-env",
            multiple=True,
            metavar="K=V",
            help="Variable that disables its custom allocator.",
        ),
    )
    litter = section(
        "Fragmented heaps (with --levels)",
        click.option(
            "--levels", help="Also run on fragmented heaps: adv0,adv1,adv3,adv10 or MULTIPLIERxOCCUPANCY."
        ),
        click.option(
            "--profile",
            type=click.Path(path_type=Path, dir_okay=False),
            help="A size profile, or a recording to take it from.",
        ),
        click.option(
            "--cut-off",
            type=click.IntRange(min=1),
            default=4096,
            show_default=True,
            help="Ignore blocks of at least this many bytes.",
        ),
        click.option("--children", is_flag=True, help="Also litter the programs that CMD executes."),
        click.option(
            "--seed",
            type=int,
            default=DEFAULT_SEED,
            show_default=True,
            help="Random seed of the heap layout.",
        ),
        click.option(
            "--order",
            type=click.Choice(ORDERS),
            default="random",
            show_default=True,
            help="Order in which blocks are freed.",
        ),
        click.option(
            "--touch/--no-touch",
            default=True,
            show_default=True,
            help="Write to every page of the litter.",
        ),
        click.option(
            "--layouts",
            type=click.IntRange(min=0, max=20),
            default=2,
            show_default=True,
            help="Number of other address-space layouts to try.",
        ),
        click.option(
            "--cache",
            type=click.Choice([COUNTERS, *CACHES]),
            help="Also count cache misses, in hardware or simulated (slow).",
        ),
        click.option(
            "--huge-pages",
            is_flag=True,
            help="Run everything both without and with huge pages.",
        ),
    )
    return own(litter(verb))


def asked(context: click.Context, given: dict[str, Any]) -> LevelOptions | None:
    """Takes these options out of `given`; None without --levels, --naive and --naive-env.

    Throws ReapError for one that needs --levels.
    """
    held = {name: given.pop(name) for name in NAMES}
    if held["levels"] is not None:
        return LevelOptions(**held)
    two = bool(held["naive"] or held["naive_env"])
    if stray := written(context, NAMES) - ({"--naive", "--naive-env"} if two else set()):
        raise ReapError(
            f"{min(stray)} requires --levels",
            "add --levels adv0,adv3",
            ExitCode.USAGE,
        )
    return LevelOptions(**{**held, "levels": ""}) if two else None


def meant(given: LevelOptions) -> AskedFragment:
    """Parses the options. Throws ReapError for what means nothing."""
    return AskedFragment(
        levels=level.parse(given.levels or CLEAN),
        clean=not given.levels,
        controls=bool(given.levels),
        naive=words.split("--naive", given.naive),
        naive_environment=dict(
            words.variable("--naive-env", word, "PYTHONMALLOC=malloc") for word in given.naive_env
        ),
        children=given.children,
        seed=given.seed,
        order=next(each for each in ORDERS if each == given.order),
        touch=given.touch,
        cut_off=given.cut_off,
        layouts=given.layouts,
        huge_pages=given.huge_pages,
        caches=given.cache or "",
    )
