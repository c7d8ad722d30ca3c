"""The shell of a page: one HTML file that needs nothing else, no network and no other file."""

import base64
import functools
import hashlib
import re
from collections.abc import Iterable
from importlib import resources

import jinja2
import markupsafe

from reap import __version__
from reap.base import redact
from reap.base.text import printable
from reap.draw.figure import Charts

FIGURES = (
    "drag",
    "forest",
    "heap",
    "levels",
    "lifetimes",
    "litter",
    "live",
    "memory",
    "misses",
    "owners",
    "remedy",
    "sites",
    "sizes",
    "split",
)
"""The kinds of figures, a script each."""

SCRIPTS = (
    "start.js",
    "toggle.js",
    "format.js",
    "slices.js",
    "stacks.js",
    "draw/page/figures/base.js",
    *(f"draw/page/figures/{kind}.js" for kind in FIGURES),
    "data.js",
    "tables.js",
    "brush.js",
    "flames.js",
    "main.js",
)
"""Our scripts of a page with figures, in the order in which they need each other."""

MOST_BYTES = 2_000_000
"""A page that can be mailed and opens at once on a phone."""

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
    """A page without figures to be drawn, from a template (see `own`) that extends shell.html.j2."""
    early, late = own("theme.js"), own("toggle.js")
    return template(name).render(
        version=__version__,
        policy=policy(early, late),
        # Our own files, the only things that are not escaped.
        style=markupsafe.Markup(own("page.css")),  # noqa: S704
        early=markupsafe.Markup(early),  # noqa: S704
        late=markupsafe.Markup(late),  # noqa: S704
        **redact.shared(words),
    )


def charted_page(name: str, data: bytes, **words: object) -> str:
    """A page with figures, from a template of ours that extends charted.html.j2; `data` is JSON."""
    return template(name).render(version=__version__, **charted(embedded(data)), **redact.shared(words))


def figured_page(name: str, charts: Charts, **words: object) -> str:
    """A page from a template that extends `frame`: charted.html.j2, or shell.html.j2 without a figure."""
    if charts:
        return charted_page(name, charts.data(), frame="charted.html.j2", **words)
    return page(name, frame="shell.html.j2", **words)


def charted(data: str, libraries: Iterable[str] = ()) -> dict[str, object]:
    """The words of charted.html.j2: its figures are drawn from `data`, which `embedded` made.

    `libraries` are those that figures need beside that of the charts.
    """
    early, late = own("theme.js"), "\n".join(own(name) for name in SCRIPTS)
    others = [library(), *(vendored(name) for name in libraries)]
    return {
        "policy": policy(early, *others, late),
        # Our own files, and JSON that cannot leave its element: the only things that are not escaped.
        "style": markupsafe.Markup(own("page.css")),  # noqa: S704
        "early": markupsafe.Markup(early),  # noqa: S704
        "libraries": [markupsafe.Markup(each) for each in others],  # noqa: S704
        "late": markupsafe.Markup(late),  # noqa: S704
        "data": markupsafe.Markup(data),  # noqa: S704
    }


def policy(*scripts: str) -> str:
    """The page may run these scripts alone, and load nothing from anywhere."""
    hashes = (base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts)
    allowed = " ".join(f"'sha256-{value}'" for value in hashes)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


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
    """A file that pages are made of: of this folder, or with its own as `show/view.html.j2`.

    One of another package has the package before it, as `reap_studies:study/page.html.j2`.
    """
    package, colon, path = name.rpartition(":")
    folder, _, file = path.rpartition("/")
    place = folder if colon else folder or "draw/page"
    return resources.files(package or "reap").joinpath(place, file).read_text(encoding="utf-8")


def library() -> str:
    """The script of others that draws figures."""
    return vendored("echarts.common.min.js")


@functools.cache
def vendored(name: str) -> str:
    """A script of others, as published."""
    return (resources.files("reap.draw") / "vendor" / name).read_text(encoding="utf-8")
