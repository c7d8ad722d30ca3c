"""The report of a command: made now, on this machine, and written to the files that were asked for."""

import sys
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from reap import __version__
from reap.answer import redact
from reap.answer.records import SCHEMA, VERSION, Answer, Head, Report
from reap.launch.host import machine


def head_of(schema: str, version: int) -> Head:
    """Head of JSON that is made now, on this machine, by this command line."""
    return Head(
        schema=schema,
        version=version,
        reap_version=__version__,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        machine=machine.describe(),
        made_by=["reap", *sys.argv[1:]],
    )


def report_of(*answers: Answer) -> Report:
    """A report made now, on this machine, by this command line."""
    head = msgspec.structs.asdict(head_of(SCHEMA, VERSION))
    return Report(**head, answers=list(answers))


def write_files(report: Report, *, json: Path | None, html: Path | None, force: bool) -> None:
    """Writes what was asked for. Throws ReapError.

    Called before anything is printed: a reader like `head` that has seen enough ends this process.
    """
    report = redact.shared(report)
    if json is not None:
        from reap.answer.json import write_json

        write_json(report, json, force=force)
    if html is not None:
        from reap.answer.html import write_html

        write_html(report, html, force=force)
