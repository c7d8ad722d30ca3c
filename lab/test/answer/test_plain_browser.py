"""Pages of rss and drag without figures in a browser: navigation and themes."""

from pathlib import Path
from typing import Any

import chromium
import pytest
from lab.test.answer.test_browser import Page

from reap.draw import html
from reap.draw.figure import Charts

pytestmark = [pytest.mark.browser, chromium.needed]

RESIDENCE = {
    "title": "What does resident memory consist of?",
    "parts": [],
    "made_by": "reap rss",
    "machine": [("Cores", "2")],
    "story": "",
    "headings": ["Remedy"],
    "rows": [["none"]],
    "judged": [],
    "settings": [],
    "multiples": [],
    "trims": False,
}
DRAG = {
    "command": "a <b>",
    "verdict": ["Drag is 1.2."],
    "notes": [],
    "rows": [],
    "left_out": 0,
    "processes": [],
}


def shown(browser: Any, folder: Path, text: str) -> Page:
    (folder / "x.html").write_text(text)
    page = Page(browser)
    page.screen(400, 800)
    browser.get_log("browser")
    browser.get((folder / "x.html").as_uri())
    return page


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (html.charted_page("rss/page.html.j2", b'{"answers": []}', **RESIDENCE), ["#remedies", "#machine"]),
        (html.figured_page("drag/sample/page.html.j2", Charts(), **DRAG), []),
    ],
    ids=["rss", "drag"],
)
def test_a_page_has_contents_and_themes(browser, tmp_path, text, links):
    page = shown(browser, tmp_path, text)
    assert page.js("[...document.querySelectorAll('nav a')].map(a => a.getAttribute('href'))") == links
    assert page.js("[...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))")
    ground = "getComputedStyle(document.body).backgroundColor"
    before = page.js(ground)
    assert page.js("document.getElementById('theme').hidden") is False
    page.js("document.getElementById('theme').click()")
    assert page.js(ground) != before
    assert page.js("document.documentElement.scrollWidth <= innerWidth"), "no wider than a phone"
    assert [entry["message"] for entry in browser.get_log("browser")] == []
