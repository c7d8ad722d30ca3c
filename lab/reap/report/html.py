"""A report as one HTML file that needs nothing else: no network, no other file."""

import base64
import functools
import hashlib
import re
from importlib import resources
from pathlib import Path

import jinja2
import markupsafe
import msgspec

from reap import units
from reap.errors import ReapError
from reap.files import write_safely
from reap.report import matrix_words, view, wording
from reap.report.records import Report
from reap.report.text import printable
from reap.report.trim import STEPS, trim

MOST_BYTES = 2_000_000
"""A page that can be mailed and opens at once on a phone."""

_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGTP]iB|B|s|ms|µs|ns|k|M|G|T)(?:\W|$))")

SCRIPTS = ("start.js", "format.js", "figures.js", "data.js", "tables.js", "main.js")
"""Our scripts, in the order in which they need each other."""


def write_html(report: Report, path: Path | str, *, force: bool = False) -> Path:
    """Write the report to `path` as one page of at most `MOST_BYTES` and return the path.

    Long lists are cut until the page fits, and the page says so. Raises ReapError where it cannot be
    made to fit, and as `write_safely` does.
    """
    return write_safely(path, render(report).encode(), force=force)


def render(report: Report) -> str:
    """The page. Raises ReapError where even the shortest form is too large."""
    for limits in STEPS:
        cut = trim(report, limits)
        data = embedded(msgspec.json.encode(cut))
        if len(data) + len(_library()) > MOST_BYTES:
            continue  # too large before anything is drawn
        page = _page(cut, data)
        if len(page.encode()) <= MOST_BYTES:
            return page
    raise ReapError(
        f"A page of {len(report.answers)} programs is larger than {units.size(MOST_BYTES)}",
        "Write the report with `--json`, or report on fewer programs at once.",
    )


def embedded(data: bytes) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or start another."""
    text = data.decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def tied(text: str) -> str:
    """The text with its numbers tied to their units, so that no line begins with a percent sign."""
    return _UNIT.sub("\u00a0", text)


def _page(report: Report, data: str) -> str:
    early, library, ours = _own("theme.js"), _library(), "\n".join(_own(name) for name in SCRIPTS)
    sections = view.answers(report)
    return _template("page.html.j2").render(
        report=report,
        title=", ".join(section.title for section in sections) or "no programs",
        sections=sections,
        machine=view.machine_rows(report.machine),
        made_by=view.command_line(report.made_by),
        wording=wording,
        words=matrix_words,
        policy=_policy(early, library, ours),
        # Our own files, and JSON that cannot leave its element: the only things that are not escaped.
        style=markupsafe.Markup(_own("page.css")),  # noqa: S704
        early=markupsafe.Markup(early),  # noqa: S704
        library=markupsafe.Markup(library),  # noqa: S704
        script=markupsafe.Markup(ours),  # noqa: S704
        data=markupsafe.Markup(data),  # noqa: S704
    )


def _policy(*scripts: str) -> str:
    """The page may run these scripts alone, and load nothing from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def render_own(name: str, **words: object) -> str:
    """A page without scripts from a template of ours, which has the style as `style`."""
    style = markupsafe.Markup(_own("page.css"))  # noqa: S704 - our own file
    return _template(name).render(style=style, **words)


@functools.cache
def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_own),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    # Control characters of the measured program's text are shown and not obeyed, as on a terminal.
    environment.filters["printable"] = printable
    environment.filters["tied"] = tied
    return environment.get_template(name)


@functools.cache
def _own(name: str) -> str:
    return (resources.files("reap.report") / "page" / name).read_text(encoding="utf-8")


@functools.cache
def _library() -> str:
    return (resources.files("reap.report") / "vendor" / "echarts.common.min.js").read_text(encoding="utf-8")
