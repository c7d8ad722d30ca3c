"""Cutting a report to a size that fits into a page. What is cut is said in the report's own notes."""

import msgspec

from reap.answer.part import Limits
from reap.answer.records import Answer, Report
from reap.base import units
from reap.base.records import Kind

STEPS = (
    Limits(sites=200, frames=64, points=800, processes=200, stacks=800, text=4000),
    Limits(sites=100, frames=32, points=400, processes=100, stacks=400, text=1000),
    Limits(sites=50, frames=24, points=200, processes=50, stacks=200, text=500),
    Limits(sites=20, frames=12, points=100, processes=20, stacks=80, text=300),
    Limits(sites=5, frames=4, points=40, processes=5, stacks=20, text=150),
)
"""From what a page shows well to what a page of dozens of programs can hold."""


def trim(report: Report, limits: Limits) -> Report:
    """The report with its long lists and strings cut; the largest sites and every peak of a curve stay."""
    bare = _clipped(msgspec.structs.replace(report, answers=[]), limits.text)
    return msgspec.structs.replace(bare, answers=[_answer(answer, limits) for answer in report.answers])


def _answer(answer: Answer, limits: Limits) -> Answer:
    bare = _clipped(msgspec.structs.replace(answer, parts=[]), limits.text)
    parts = [_clipped(part.trimmed(limits), limits.text) for part in answer.parts]
    return msgspec.structs.replace(bare, parts=parts)


def _clipped(record: Kind, most: int) -> Kind:
    """The record with every string cut to `most` characters, wherever it stands."""
    return msgspec.convert(_walk(msgspec.to_builtins(record), most), type(record))


def _walk(value: object, most: int) -> object:
    if isinstance(value, str):
        return value if len(value) <= most else f"{value[:most]}... ({units.whole(len(value))} characters)"
    if isinstance(value, list):
        return [_walk(item, most) for item in value]
    if isinstance(value, dict):
        return {_walk(key, most): _walk(item, most) for key, item in value.items()}
    return value
