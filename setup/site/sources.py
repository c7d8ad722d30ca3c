"""Put the pages of the site together in build/docs/source: the committed ones and the generated reference.

The folder has the repository's layout, so that a link between pages leads to the same page in both.
"""

import re
import shutil
import sys
import tomllib
from pathlib import Path

import headers
import verbs
import yaml

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "docs"
SOURCE = BUILD / "source"
VERBS, HEADERS = "docs/reference/commands", "docs/reference/library"

_LINK = re.compile(r"\]\(([^)\s#:]+)(?:#[^)\s]*)?\)|\b(?:src|href)=\"([^\"#:]+)\"")
_ITEM = re.compile(r"([-*+]|\d+\.) |\|.*\|$|```")


def own_pages() -> list[Path]:
    """The committed pages, relative to the root."""
    top = [Path(name) for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")]
    return [*top, *sorted(path.relative_to(ROOT) for path in (ROOT / "docs").rglob("*.md"))]


def portable(text: str) -> str:
    """A page as Python-Markdown wants it: an empty line between text and a list, a table or a fence."""
    lines: list[str] = []
    fenced = False
    for line in text.splitlines():
        before = lines[-1] if lines else ""
        after_text = (
            before.strip() and not before.startswith((" ", "#", ">", "|")) and not _ITEM.match(before)
        )
        if not fenced and after_text and _ITEM.match(line):
            lines.append("")
        if line.lstrip().startswith("```"):
            fenced = not fenced
        lines.append(line)
    return "\n".join(lines) + "\n"


def copy(page: Path) -> None:
    """Copies a page and what it links to that is no page: pictures, sources."""
    text = (ROOT / page).read_text()
    target = SOURCE / page
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(portable(text))
    for link in (found for pair in _LINK.findall(text) for found in pair if found):
        linked = (ROOT / page).parent / link
        if linked.is_file() and linked.suffix != ".md":
            place = SOURCE / linked.resolve().relative_to(ROOT)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(linked, place)


def menu() -> list[dict[str, object]]:
    """The menu as MkDocs wants it. Exits if nav.toml and the committed pages differ."""
    sections = tomllib.loads((ROOT / "setup/site/nav.toml").read_text())["section"]
    generated = {
        "@verbs": {"Commands": verbs.write(SOURCE, VERBS)},
        "@headers": {"Headers": headers.write(SOURCE, HEADERS)},
    }
    named = {page for section in sections for page in section["pages"]}
    wanted = {str(page) for page in own_pages()}
    if wrong := (named - set(generated)) ^ wanted:
        sys.exit(f"setup/site/nav.toml and the committed pages differ in {', '.join(sorted(wrong))}")
    return [
        {section["title"]: [generated.get(page, page) for page in section["pages"]]} for section in sections
    ]


def main() -> None:
    """Writes the sources, and the configuration for MkDocs."""
    SOURCE.mkdir(parents=True)
    for page in own_pages():
        copy(page)
    settings = {
        "INHERIT": "../../setup/site/mkdocs.yml",
        "docs_dir": "source",
        "site_dir": "html",
        "nav": menu(),
    }
    (BUILD / "mkdocs.yml").write_text(yaml.safe_dump(settings, sort_keys=False))


if __name__ == "__main__":
    main()
