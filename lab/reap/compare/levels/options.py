"""The options of `reap compare` for fragmented heaps, and what they say."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline import litter, words
from reap.commandline.sections import section
from reap.commandline.written import written
from reap.experiment.spec import COUNTERS
from reap.experiment.specify import AskedFragment
from reap.launch.litter import level
from reap.launch.tools.callgrind import CACHES

CLEAN = "adv0"
"""The level at which nothing is littered."""
NAMES = ("levels", "naive", "litter")

_LITTER = (
    "layouts=N, other address-space layouts to try (2); huge-pages=yes, run everything both without and with "
    f"huge pages; caches={'|'.join([COUNTERS, *CACHES])}, also count cache misses, in hardware or simulated "
    "(slow)"
)

_Verb = TypeVar("_Verb", bound=Callable[..., Any])


@dataclass(frozen=True, kw_only=True)
class Heaps:
    """Heaps that are asked for: fragmented ones, or clean ones without the program's own allocator."""

    fragment: AskedFragment
    profile: Path | None
    """The sizes of the litter; None: they are recorded first."""


def options(verb: _Verb) -> _Verb:
    """Gives a verb these options; it hands them to `asked`."""
    own = section(
        "Its own allocator, and none",
        click.option(
            "--naive",
            default="",
            metavar="[K=V...] [CMD2]",
            help="Compare CMD with what has its own allocator disabled: CMD with these variables, or another "
            "command.",
        ),
    )
    heaps = section(
        "Fragmented heaps",
        click.option(
            "--levels", help="Also run on fragmented heaps: adv0,adv1,adv3,adv10 or MULTIPLIERxOCCUPANCY."
        ),
        litter.option(
            {
                "layouts": click.IntRange(min=0, max=20),
                "huge-pages": click.BOOL,
                "caches": click.Choice([COUNTERS, *CACHES]),
            },
            _LITTER,
        ),
    )
    return own(heaps(verb))


def asked(context: click.Context, given: dict[str, Any]) -> Heaps | None:
    """Takes these options out of `given`; None without --levels and --naive.

    Throws ReapError for what means nothing, and for --litter without --levels.
    """
    levels, naive, chosen = (given.pop(name) for name in NAMES)
    if levels is None:
        if written(context, ["litter"]):
            raise ReapError("--litter requires --levels", "add --levels adv0,adv3", ExitCode.USAGE)
        if not naive:
            return None
        chosen = {}  # of reap.toml
    profile = chosen.pop("profile", None)
    variables, command = words.assigned(words.split("--naive", naive))
    if naive and not variables and not command:
        raise ReapError("--naive names no command", "--naive PYTHONMALLOC=malloc", ExitCode.USAGE)
    fragment = AskedFragment(
        levels=level.parse(levels or CLEAN),
        clean=not levels,
        controls=bool(levels),
        naive=command,
        naive_environment=variables,
        **chosen,
    )
    return Heaps(fragment=fragment, profile=profile)
