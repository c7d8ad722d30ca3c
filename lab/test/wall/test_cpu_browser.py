"""The flame graph of CPU time in a browser: widths, owners, search, hostile names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import answers
import chromium
import pytest
from lab.test.answer.test_browser import Page
from samples import HOSTILE, report_of
from walls import WALLS

from reap.answer.html import write_html

pytestmark = [pytest.mark.browser, chromium.needed]

Opened = Callable[[str], Page]

STACKS = {
    "known": ["main;parse;malloc_[a] 20", "main;parse;malloc_[a];brk_[k] 10", "main;render 70"],
    "hostile": [f"main;{HOSTILE};malloc_[a] 1", "no number", ";; 3", "main 1e9"],
}

LABELS = "[...document.querySelectorAll('.flame g.frame')].map(f => f.getAttribute('aria-label'))"
FILLS = (
    "Object.fromEntries([...document.querySelectorAll('.flame g.frame')].map("
    "f => [f.getAttribute('aria-label').split(':')[0], f.querySelector('rect').getAttribute('fill')]))"
)


@pytest.fixture
def opened(browser: Any, tmp_path: Path) -> Iterator[Opened]:
    page = Page(browser)

    def open_page(name: str) -> Page:
        path = tmp_path / f"{name}.html"
        command = ["server"]
        answer = answers.answer("server", command, wall=WALLS["nothing"], stacks=STACKS[name])
        write_html(report_of(answer), path)
        page.screen(1200, 900, dark=False)
        browser.get(path.as_uri())
        page.until(lambda: page.js("window.reapReport && reapReport.ready"))
        page.show(".flame .boxes")
        return page

    with chromium.quiet(browser, tmp_path):
        yield open_page


def test_a_box_is_as_wide_as_its_samples_and_says_whose_it_is(opened: Opened) -> None:
    page = opened("known")
    assert set(page.js(LABELS)) == {
        "all: 100 % (100 samples)",
        "main: 100 % (100 samples)",
        "render: 70 % (70 samples)",
        "parse: 30 % (30 samples)",
        "malloc (the allocator's): 30 % (30 samples)",
        "brk (the kernel's): 10.0 % (10 samples)",
    }


def test_owners_have_a_colour_each(opened: Opened) -> None:
    fills = opened("known").js(FILLS)
    hues = {name: int(fill.removeprefix("hsl(").split()[0]) for name, fill in fills.items()}
    assert 205 <= hues["malloc (the allocator's)"] < 235
    assert 262 <= hues["brk (the kernel's)"] < 292
    assert all(18 <= hues[name] < 48 for name in ("main", "parse", "render"))


def test_a_function_is_found(opened: Opened) -> None:
    page = opened("known")
    page.find(".flame .search").send_keys("ALLOC")
    assert page.find(".flame .found").text == "1 function, 30 %"


def test_names_are_text_and_what_is_no_stack_is_left_out(opened: Opened) -> None:
    page = opened("hostile")
    labels = page.js(LABELS)
    assert any(label.startswith(HOSTILE) for label in labels)
    assert not page.js("document.querySelectorAll('.flame img, .flame script').length")
