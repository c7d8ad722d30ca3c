"""A report as JSON, and back: the form for other tools, for later, and for reading on another machine."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from reap.answer.part import Part
from reap.answer.records import FIELDS, SCHEMA, VERSION, Answer, Report
from reap.base.errors import ReapError
from reap.base.files import write_safely
from reap.base.records import Record, decode
from reap.base.text import plain_json
from reap.launch.records import Machine


class _Head(msgspec.Struct):
    """Fields that are read first: they say whether the rest can be understood."""

    schema: int | str
    version: int = 0
    """Older files have it as `schema`."""


class _Report(Record):
    """A report whose answers are not read yet."""

    reap_version: str
    created: str
    machine: Machine
    made_by: list[str]
    answers: list[msgspec.Raw]


class _Answer(Record):
    """An answer without its parts."""

    title: str
    command: list[str]


def compact(report: Report) -> bytes:
    """The report as JSON in UTF-8, on one line. Each part has its fields among those of its answer."""
    fields = msgspec.structs.asdict(report)
    return plain_json(
        msgspec.json.encode({**fields, "answers": [_flat(answer) for answer in report.answers]})
    )


def encode(report: Report) -> bytes:
    """Encodes a report, indented by one space so that it can be compared line by line."""
    return msgspec.json.format(compact(report), indent=1) + b"\n"


def write_json(report: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write the report to `path` and return it. Raises ReapError as `write_safely` does."""
    return write_safely(path, encode(report), force=force)


def read_json(path: Path | str, kinds: Sequence[type[Part]]) -> Report:
    """Read what `write_json` wrote. `kinds` are those of parts, in the order of the page.

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
    if isinstance(head.schema, str) and head.schema != SCHEMA:
        raise ReapError(f"{source} is what another command wrote ({head.schema})", "Name a report.")
    version = head.schema if isinstance(head.schema, int) else head.version
    if version != VERSION:
        raise ReapError(
            f"{source} has version {version} of the schema; this reap reads version {VERSION}",
            "Read it with the reap that wrote it (its `reap_version` says which), or make it again.",
        )
    try:
        return decoded(data, kinds)
    except msgspec.DecodeError as error:
        raise ReapError(f"{source} is damaged: {error}", "Make it again with `--json`.") from error


def decoded(data: bytes | str, kinds: Sequence[type[Part]]) -> Report:
    """Decodes what `encode` and `compact` wrote. Throws msgspec.DecodeError."""
    held = decode(data, _Report)
    return Report(
        reap_version=held.reap_version,
        created=held.created,
        machine=held.machine,
        made_by=held.made_by,
        answers=[_answer(bytes(raw), kinds) for raw in held.answers],
    )


def _flat(answer: Answer) -> dict[str, object]:
    fields = {**FIELDS}
    for part in answer.parts:
        fields.update(msgspec.structs.asdict(part))
    return {"title": answer.title, "command": answer.command, **fields}


def _answer(data: bytes, kinds: Sequence[type[Part]]) -> Answer:
    """The answer with a part of each kind whose first field is there and in no part before it."""
    answer = decode(data, _Answer)
    left = {name for name, raw in decode(data, dict[str, msgspec.Raw]).items() if bytes(raw) != b"null"}
    parts: list[Part] = []
    for kind in kinds:
        fields = kind.__struct_fields__
        if fields[0] in left:
            parts.append(decode(data, kind))
            left.difference_update(fields)
    return Answer(title=answer.title, command=answer.command, parts=parts)
