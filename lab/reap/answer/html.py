"""A report as one HTML file that needs nothing else: no network, no other file."""

from pathlib import Path

from reap.answer import view
from reap.answer.json import compact
from reap.answer.records import Report
from reap.answer.trim import STEPS, trim
from reap.base import units
from reap.base.errors import ReapError
from reap.base.files import write_safely
from reap.base.text import command_line
from reap.draw import html as shell
from reap.launch.host.rows import machine_rows


def write_html(report: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write the report to `path` as one page of at most `shell.MOST_BYTES` and return the path.

    Long lists are cut until the page fits, and the page says so. Raises ReapError where it cannot be
    made to fit, and as `write_safely` does.
    """
    return write_safely(path, render(report).encode(), force=force)


def render(report: Report) -> str:
    """The page. Raises ReapError where even the shortest form is too large."""
    for limits in STEPS:
        cut = trim(report, limits)
        data = shell.embedded(compact(cut))
        if len(data) + len(shell.library()) > shell.MOST_BYTES:
            continue  # too large before anything is drawn
        page = _page(cut, data)
        if len(page.encode()) <= shell.MOST_BYTES:
            return page
    raise ReapError(
        f"A page of {len(report.answers)} programs is larger than {units.size(shell.MOST_BYTES)}",
        "Write the report with `--json`, or report on fewer programs at once.",
    )


def _page(report: Report, data: str) -> str:
    sections = view.answers(report)
    wanted = dict.fromkeys(name for section in sections for part in section.parts for name in part.libraries)
    return shell.template("answer/page.html.j2").render(
        version=report.reap_version,
        report=report,
        title=", ".join(section.title for section in sections) or "no programs",
        question=view.question(report),
        sections=sections,
        machine=machine_rows(report.machine),
        made_by=command_line(report.made_by),
        **shell.charted(data, wanted),
    )
