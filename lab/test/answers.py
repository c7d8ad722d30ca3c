"""Answers for the tests, by the names of their fields in the JSON."""

from types import SimpleNamespace
from typing import Any

import msgspec

from reap.answer.part import Part
from reap.answer.records import FIELDS, Answer
from reap.run.parts import KINDS


def answer(title: str, command: list[str], **fields: Any) -> Answer:
    """An answer with the parts that have these fields; one that is None is not there."""
    left = {name: value for name, value in fields.items() if value not in (None, [])}
    parts: list[Part] = [
        kind(**{name: left.pop(name) for name in kind.__struct_fields__ if name in left})
        for kind in KINDS
        if kind.__struct_fields__[0] in left
    ]
    assert not left, f"no part has {', '.join(left)}"
    return Answer(title=title, command=command, parts=parts)


def fields_of(of: Answer) -> Any:
    """The fields of all its parts, those of missing ones as in the JSON."""
    fields = {name: value for part in of.parts for name, value in msgspec.structs.asdict(part).items()}
    return SimpleNamespace(**{**FIELDS, **fields})


def changed(of: Answer, **fields: Any) -> Answer:
    """The answer with other parts."""
    return answer(of.title, of.command, **{**vars(fields_of(of)), **fields})
