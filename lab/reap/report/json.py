"""A report as JSON, and back: the form for other tools, for later, and for `reap show` on another machine."""

from pathlib import Path

import msgspec

from reap.base.errors import ReapError
from reap.base.files import write_safely
from reap.base.records import decode
from reap.report.records import SCHEMA, Report


class _Head(msgspec.Struct):
    """What is read first: whether the rest can be understood."""

    schema: int


def encode(report: Report) -> bytes:
    """The report as JSON in UTF-8, indented by one space so that it can be compared line by line."""
    return msgspec.json.format(msgspec.json.encode(report), indent=1) + b"\n"


def write_json(report: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write the report to `path` and return it. Raises ReapError as `write_safely` does."""
    return write_safely(path, encode(report), force=force)


def read_json(path: Path | str) -> Report:
    """Read what `write_json` wrote.

    Raises ReapError where the file cannot be read, is no report, or was written by a reap whose schema
    is another.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise ReapError(
            f"{source} could not be read: {error.strerror}", "Name a file that `--json` wrote."
        ) from error
    try:
        head = decode(data, _Head)
    except msgspec.DecodeError as error:
        raise ReapError(
            f"{source} is not a report of reap: {error}", "Name a file that `--json` wrote."
        ) from error
    if head.schema != SCHEMA:
        raise ReapError(
            f"{source} has schema {head.schema}; this reap reads schema {SCHEMA}",
            "Read it with the reap that wrote it (its `reap_version` says which), or make it again.",
        )
    try:
        return decode(data, Report)
    except msgspec.DecodeError as error:
        raise ReapError(f"{source} is damaged: {error}", "Make it again with `--json`.") from error
