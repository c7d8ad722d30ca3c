"""Check a built site: every link and anchor leads somewhere, and no page loads anything from elsewhere.

setup/site/check.py FOLDER
"""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LOADED = {("script", "src"), ("img", "src"), ("link", "href"), ("iframe", "src"), ("source", "srcset")}
"""What a browser fetches by itself."""
KEPT_LINKS = {"canonical", "prev", "next", "alternate"}


class Reader(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Notes what the tag names."""
        given = dict(attrs)
        self.ids |= {value for key, value in attrs if key in {"id", "name"} and value}
        for key, value in attrs:
            if value and (tag, key) in LOADED and given.get("rel") not in KEPT_LINKS:
                self.loaded.append(value)
            if value and key in {"href", "src"}:
                self.links.append(value)


def elsewhere(url: str) -> bool:
    """Whether a browser would ask the network for it."""
    return bool(re.match(r"[a-z]+:|//", url)) and not url.startswith("data:")


def faults(site: Path) -> list[str]:
    """What is wrong, a line each."""
    pages = {}
    for path in sorted(site.rglob("*.html")):
        pages[path] = Reader()
        pages[path].feed(path.read_text())
    found = []
    for path, page in pages.items():
        if path == site / "404.html":  # its links begin at the root of the server that has it
            continue
        name = path.relative_to(site)
        found += [f"{name} loads {url}" for url in page.loaded if elsewhere(url)]
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.exists():
                found.append(f"{name} links to {link}, which is not there")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].ids:
                found.append(f"{name} links to {link}, which has no such anchor")
    for style in sorted(site.rglob("*.css")):
        found += [
            f"{style.relative_to(site)} loads {url}"
            for url in re.findall(r"url\([\"']?(https?:[^)\"']+)", style.read_text())
        ]
    return found


def main() -> int:
    """Prints what is wrong; 1 if anything is."""
    wrong = faults(Path(sys.argv[1]).resolve())
    for line in wrong:
        print(f"site: {line}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
