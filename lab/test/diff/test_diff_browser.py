"""The differential flame graph in a browser: widths, colours, words."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from lab.test.answer.test_browser import Page
from lab.test.diff.test_joined import HOSTILE, whole
from samples import report_of

from reap.answer.html import write_html
from reap.answer.records import Answer
from reap.diff.part import DifferencePart

pytestmark = [pytest.mark.browser, chromium.needed]

FRAMES = "[...document.querySelectorAll('.flame g.frame')]"


@pytest.fixture
def page(browser: Any, tmp_path: Path) -> Iterator[Page]:
    held = whole(
        {("main", "stays"): 40, ("main", "goes"): 60, ("main", HOSTILE): 10},
        {("main", "stays"): 40, ("main", "comes"): 30, ("main", HOSTILE): 30},
    )
    made = report_of(Answer(title="x", command=["x"], parts=[DifferencePart(difference=held)]))
    write_html(made, tmp_path / "x.html")
    shown = Page(browser)
    shown.screen(1200, 900)
    browser.get_log("browser")
    browser.get((tmp_path / "x.html").as_uri())
    shown.until(lambda: shown.js("window.reapReport && reapReport.ready"))
    yield shown
    assert shown.js("reapReport.errors") == []
    assert [entry["message"] for entry in browser.get_log("browser")] == []


def boxes(page: Page) -> dict[str, tuple[float, str, str]]:
    """Each box's width, colour and words, by its name."""
    found = page.js(
        f"JSON.stringify({FRAMES}.map(f => {{ const d = d3.select(f).datum(); return [d.data.name, "
        "d.x1 - d.x0, f.querySelector('rect').getAttribute('fill'), f.getAttribute('aria-label')] }))"
    )
    return {name: (round(width, 2), hue(fill), said) for name, width, fill, said in json.loads(found)}


def hue(fill: str) -> str:
    known = {"hsl(4 ": "red", "hsl(214": "blue", "hsl(0 0": "grey"}
    return next((name for start, name in known.items() if fill.startswith(start)), fill)


def test_what_grew_is_red_what_shrank_is_blue_and_the_rest_is_grey(page: Page) -> None:
    assert boxes(page) == {
        "all": (1.0, "blue", "all: 100 % (0.98 KiB), -100 B"),
        "main": (1.0, "blue", "main: 100 % (0.98 KiB), -100 B"),
        "stays": (0.4, "grey", "stays: 40 % (400 B), unchanged"),
        "comes": (0.3, "red", "comes: 30 % (300 B), +300 B"),
        HOSTILE: (0.3, "red", f"{HOSTILE}: 30 % (300 B), +200 B"),
    }


def test_widths_before_show_what_is_gone(page: Page) -> None:
    page.show(".flame .earlier")
    page.find(".flame .earlier").click()
    found = boxes(page)
    assert found["goes"] == (0.55, "blue", "goes: 55 % (600 B), -600 B")
    assert "comes" not in found


def test_hostile_names_are_only_text(page: Page) -> None:
    assert page.js("document.querySelectorAll('img').length") == 0
    assert HOSTILE in boxes(page)
