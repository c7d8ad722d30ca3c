"""The shell of a page: one HTML file that needs nothing else, no network and no other file."""

import functools
import re
from importlib import resources

import jinja2
import markupsafe

from reap.base.text import printable

_UNIT = re.compile(r"(?<=\d) (?=(?:%|[KMGTP]iB|B|s|ms|µs|ns|k|M|G|T)(?:\W|$))")


def embedded(data: bytes) -> str:
    """JSON that may stand in a script element: nothing in it can end the element or start another."""
    text = data.decode()
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def tied(text: str) -> str:
    """The text with its numbers tied to their units, so that no line begins with a percent sign."""
    return _UNIT.sub("\u00a0", text)


def page(name: str, **words: object) -> str:
    """A page without scripts from a template of ours, which has the style as `style`."""
    style = markupsafe.Markup(own("page.css"))  # noqa: S704 - our own file
    return template(name).render(style=style, **words)


@functools.cache
def template(name: str) -> jinja2.Template:
    """A template of ours."""
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(own),
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
def own(name: str) -> str:
    """A file of ours that pages are made of: of this folder, or with its own as `show/view.html.j2`."""
    folder, _, file = name.rpartition("/")
    return (resources.files("reap") / (folder or "draw/page") / file).read_text(encoding="utf-8")


def library() -> str:
    """The script of others that draws figures."""
    return vendored("echarts.common.min.js")


@functools.cache
def vendored(name: str) -> str:
    """A script of others, as published."""
    return (resources.files("reap.draw") / "vendor" / name).read_text(encoding="utf-8")
