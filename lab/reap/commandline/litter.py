"""`--litter KEY=VALUE`: how a heap is littered."""

from collections.abc import Callable, Mapping
from typing import Any

import click

from reap.commandline import settings
from reap.commandline.outputs import FILE
from reap.launch.litter.records import DEFAULT_SEED, ORDERS

CUT_OFF = 4096
"""Blocks of this many bytes are not imitated, unless the user names another size."""

_TYPES: Mapping[str, click.ParamType[Any]] = {
    "profile": FILE,
    "cut-off": click.IntRange(min=1),
    "children": click.BOOL,
    "seed": click.INT,
    "order": click.Choice(ORDERS),
    "touch": click.BOOL,
}
_HELP = (
    "How it is littered: profile=FILE, a size profile, or a recording to take it from; "
    f"cut-off=BYTES, the size from which blocks are ignored ({CUT_OFF}); "
    "children=yes, the programs that CMD executes, too; "
    f"seed=N, random seed of the heap layout ({DEFAULT_SEED}); "
    f"order={'|'.join(ORDERS)}, in which blocks are freed; "
    "touch=no, without writing to every page"
)


def option(
    more: Mapping[str, click.ParamType[Any]],
    help: str,  # noqa: A002 - as click
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The option, with more keys that one command has, and the help of these."""
    return settings.option("--litter", {**_TYPES, **more}, f"{_HELP}; {help}.")
