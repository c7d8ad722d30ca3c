"""A report that is about to be shared: see `reap.base.redact`."""

from collections.abc import Sequence

import msgspec

from reap.answer.records import Answer, Report
from reap.base import redact


def shared(report: Report) -> Report:
    """The report as it may be written: itself, unless `--redact` was given."""
    return redact.shared(without_source(report)) if redact.asked() else report


def redacted(report: Report, command: Sequence[str] = ()) -> Report:
    """The report without arguments, folders, source lines and names of users; names of files stay."""
    return redact.redacted(without_source(report), command)


def without_source(report: Report) -> Report:
    """The report without lines of a program's source."""
    return msgspec.structs.replace(report, answers=[_answer(each) for each in report.answers])


def _answer(answer: Answer) -> Answer:
    parts = [part for part in answer.parts if "source" not in part.__struct_fields__]
    return msgspec.structs.replace(answer, parts=parts)
