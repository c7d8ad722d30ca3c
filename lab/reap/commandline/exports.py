"""`--export FILE`: results in a format that the ending of the file names."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeVar

import click

from reap.base.errors import ExitCode, ReapError
from reap.base.files import STANDARD_OUTPUT
from reap.commandline.outputs import FILE

_Format = TypeVar("_Format")

option = click.option(
    "--export",
    "exports",
    type=FILE,
    multiple=True,
    help="Also write the ratios as CSV (FILE.csv; - is standard output) or a Markdown table (FILE.md), or "
    "all runs of --plan or --on as Parquet (FILE.parquet). Repeatable.",
)
"""Gives a verb the option; it hands that to `by_ending`."""


def by_ending(files: Sequence[Path], formats: Mapping[str, _Format], of: str) -> list[tuple[Path, _Format]]:
    """Each file with its format; standard output has the first. Throws ReapError, naming what is exported."""
    for path in files:
        if path != STANDARD_OUTPUT and path.suffix not in formats:
            raise ReapError(
                f"--export {path}: there is no such format of {of}",
                f"the formats are {', '.join(f'FILE{ending}' for ending in formats)}; --json has everything",
                ExitCode.USAGE,
            )
    first = next(iter(formats))
    return [(path, formats[first if path == STANDARD_OUTPUT else path.suffix]) for path in files]
