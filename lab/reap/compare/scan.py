"""One command with several values of its parameters: `--scan NAME=1,2,4`."""

import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from reap.base.errors import ExitCode, ReapError
from reap.commandline.sections import section
from reap.compare.against import HEADING
from reap.experiment.naming import ARM
from reap.experiment.spec import Variant
from reap.launch import program as programs
from reap.server.records import PORT

_MOST = 64
"""Commands; a round runs all of them."""
_EXAMPLE = "--scan threads=1,2,4 -- ./prog --threads '{threads}'"
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")

option = section(
    HEADING,
    click.option(
        "--scan",
        multiple=True,
        metavar="NAME=VALUE,...",
        help="Compare CMD with each value in place of {NAME}; the first value is the baseline. Repeatable: "
        "every combination.",
    ),
)
"""Gives a verb the option; it hands it to `asked`."""


def asked(given: dict[str, Any]) -> list[Variant]:
    """Takes the option out of `given`, and makes the first combination its `command`; all, the first first.

    Throws ReapError.
    """
    texts, template = given.pop("scan"), list(given["command"])
    if not texts:
        return []
    scanned = dict(_values(text) for text in texts)
    if len(scanned) < len(texts):
        raise ReapError("--scan names a parameter twice", "give all of its values at once", ExitCode.USAGE)
    for name in scanned:
        if not any(_stand_in(name) in word for word in template):
            raise ReapError(f"{_stand_in(name)} is not in the command", _EXAMPLE, ExitCode.USAGE)
        for option_ in ("prepare", "cleanup"):
            if _stand_in(name) in given[option_]:
                raise ReapError(
                    f"{_stand_in(name)} is in --{option_}, which is the same for all values",
                    "do what depends on it in the command: -- sh -c '...'",
                    ExitCode.USAGE,
                )
    combinations = [
        dict(zip(scanned, values, strict=True)) for values in itertools.product(*scanned.values())
    ]
    if not 1 < len(combinations) <= _MOST:
        raise ReapError(
            f"--scan gives {len(combinations)} commands; it compares 2 to {_MOST}", _EXAMPLE, ExitCode.USAGE
        )
    variants = [
        Variant(
            name=" ".join(f"{name}={value}" for name, value in chosen.items()),
            program=programs.resolve(_filled(template, chosen), directory=str(Path.cwd())),
        )
        for chosen in combinations
    ]
    given["command"] = tuple(variants[0].program.command)
    return variants


def _values(text: str) -> tuple[str, list[str]]:
    name, equals, values = text.partition("=")
    found = list(dict.fromkeys(values.split(",")))
    if not equals or not _NAME.fullmatch(name) or _stand_in(name) in (ARM, PORT) or "" in found:
        raise ReapError(f"--scan {text} is not NAME=VALUE,VALUE,...", _EXAMPLE, ExitCode.USAGE)
    return name, found


def _stand_in(name: str) -> str:
    return f"{{{name}}}"


def _filled(template: Sequence[str], chosen: dict[str, str]) -> list[str]:
    words = list(template)
    for name, value in chosen.items():
        words = [word.replace(_stand_in(name), value) for word in words]
    return words
