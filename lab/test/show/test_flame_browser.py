"""The flame graph in a browser: measures, inverted, search, zoom, keys, themes, phones, hostile names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from lab.test.answer.test_browser import Page
from samples import HOSTILE, profile_of, report_of

from reap.answer.html import write_html
from reap.answer.records import Answer
from reap.show.part import FlamePart, ProfilePart
from reap.show.records import Flame

pytestmark = [pytest.mark.browser, chromium.needed]

Opened = Callable[..., Page]


def known(prefix: str = "") -> Flame:
    """Two functions that allocate by a third, and one that does on its own."""
    names = ["main", "parse", "allocate", "render", "plain"]
    return Flame(
        functions=[prefix + name for name in names],
        parents=[-1, 0, 1, 0, 3, 0],
        at=[0, 1, 2, 3, 2, 4],
        own={
            "allocations": [0, 0, 10, 0, 50, 40],
            "bytes": [0, 0, 6000, 0, 3000, 1000],
            "peak": [0, 0, 6000, 0, 0, 0],
            "temporary": [0, 0, 0, 0, 50, 0],
            "live-at-exit": [0] * 6,
        },
        least=0.001,
        estimated=False,
    )


def deep() -> Flame:
    """A hundred calls deep, with long names, and wide at the bottom."""
    count = 600
    names = [f"a_namespace::{'inner::' * 20}function_{i}(std::vector<int> const&)" for i in range(count)]
    own = [0] * 99 + [1 + i % 7 for i in range(count - 99)]
    parents = [-1, *range(98), *(i % 99 for i in range(count - 99))]
    measures = ("allocations", "bytes", "peak", "temporary", "live-at-exit")
    return Flame(
        functions=names,
        parents=parents,
        at=list(range(count)),
        own={measure: list(own) for measure in measures},
        least=0.001,
        estimated=True,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("flames")
    for name, held in (("known", known()), ("deep", deep()), ("hostile", known(HOSTILE))):
        parts = [ProfilePart(profile=profile_of(depth="full")), FlamePart(flame=held)]
        write_html(report_of(Answer(title="perl", command=["perl"], parts=parts)), made / f"{name}.html")
    return made


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    driver = chromium.started(tmp_path_factory.mktemp("user"))
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Opened]:
    page = Page(browser)

    def open_page(name: str = "known", width: int = 1200, *, dark: bool = False) -> Page:
        page.screen(width, 900, dark=dark)
        browser.get((folder / f"{name}.html").as_uri())
        page.until(lambda: page.js("window.reapReport && reapReport.ready"))
        page.show(".flame .boxes")
        return page

    with chromium.quiet(browser, folder):
        yield open_page
    page.js("localStorage.clear()")


FRAMES = "[...document.querySelectorAll('.flame g.frame')]"


def boxes(page: Page) -> dict[str, float]:
    """What is drawn: each box by the names from the outermost on, with its share of the width."""
    found = page.js(
        f"{FRAMES}.map(f => d3.select(f).datum())"
        ".map(d => [d.ancestors().reverse().map(a => a.data.name).join(' > '), d.x1 - d.x0])"
    )
    return {path.removeprefix("all > "): round(width, 3) for path, width in found}


def choose(page: Page, measure: str) -> None:
    page.find(f".flame .measure option[value='{measure}']").click()


def test_a_box_is_as_wide_as_what_was_allocated_below_it(opened: Opened) -> None:
    page = opened()
    assert boxes(page) == {
        "all": 1.0,
        "main": 1.0,
        "main > parse": 0.6,
        "main > parse > allocate": 0.6,
        "main > render": 0.3,
        "main > render > allocate": 0.3,
        "main > plain": 0.1,
    }
    labels = page.js(f"{FRAMES}.map(f => f.getAttribute('aria-label'))")
    assert "parse: 60 % (5.86 KiB)" in labels
    page.until(lambda: "parse" in page.js(f"{FRAMES}.map(f => f.textContent).join('|')"))
    widths = page.js(f"{FRAMES}.map(f => f.querySelector('rect').getBoundingClientRect().width)")
    assert max(widths) > 800


def test_each_measure_that_has_something_can_be_shown(opened: Opened) -> None:
    page = opened()
    offered = page.js("[...document.querySelectorAll('.flame option')].map(o => o.value)")
    assert offered == ["bytes", "allocations", "peak", "temporary"], "nothing was left at exit"
    choose(page, "allocations")
    assert boxes(page)["main > render"] == 0.5
    assert "render: 50 % (50)" in page.js(f"{FRAMES}.map(f => f.getAttribute('aria-label'))")
    choose(page, "peak")
    assert set(boxes(page)) == {"all", "main", "main > parse", "main > parse > allocate"}


def test_inverted_it_begins_at_those_who_allocate(opened: Opened) -> None:
    page = opened()
    page.find(".flame .inverted").click()
    assert boxes(page) == {
        "all": 1.0,
        "allocate": 0.9,
        "allocate > parse": 0.6,
        "allocate > parse > main": 0.6,
        "allocate > render": 0.3,
        "allocate > render > main": 0.3,
        "plain": 0.1,
        "plain > main": 0.1,
    }
    page.find(".flame .inverted").click()
    assert boxes(page)["main"] == 1.0


def test_search_marks_functions_and_says_how_much_they_are(opened: Opened) -> None:
    page = opened()
    word = page.find(".flame .search")
    word.send_keys("ALLOC")
    assert page.find(".flame .found").text == "1 function, 90 %"
    assert page.js("document.querySelectorAll('.flame g.hit').length") == 2
    choose(page, "allocations")
    assert page.find(".flame .found").text == "1 function, 60 %", "the word stays"
    word.clear()
    word.send_keys("(")
    assert page.find(".flame .found").text == "0 functions, 0 %", "no regular expression"
    word.send_keys("\ue003")
    assert page.find(".flame .found").text == ""
    assert page.js("document.querySelectorAll('.flame g.hit').length") == 0


def test_a_click_zooms_and_a_button_leaves(opened: Opened) -> None:
    page = opened()
    place = page.js(
        f"(() => {{ const r = {FRAMES}.find(f => d3.select(f).datum().data.name === 'render')"
        ".querySelector('rect').getBoundingClientRect();"
        " return [r.x + r.width / 2, r.y + r.height / 2] })()"
    )
    page.click_at(*place)
    page.until(lambda: "main > parse" not in boxes(page))
    assert boxes(page)["main > render"] == 1.0
    assert page.find(".flame .pointed").text == "render: 30 % (2.93 KiB)"
    page.find(".flame .reset").click()
    assert boxes(page)["main > render"] == 0.3


def test_the_keyboard_reaches_every_box(opened: Opened) -> None:
    page = opened()
    assert page.js(f"{FRAMES}.filter(f => f.tabIndex === 0).length") == 1
    focused = "d3.select(document.activeElement).datum()?.data?.name"
    page.find(".flame .reset").send_keys("\ue004")  # Tab
    assert page.js(focused) == "all"
    seen = []
    for key in (
        "\ue015",
        "\ue015",
        "\ue014",
        "\ue015",
        "\ue013",
        "\ue012",
    ):  # down, down, right, down, up, left
        page.driver.switch_to.active_element.send_keys(key)
        seen.append(page.js(focused))
    assert seen == ["main", "parse", "render", "allocate", "render", "parse"]
    assert page.find(".flame .pointed").text.startswith("parse: 60 %")
    page.driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert boxes(page)["main > parse"] == 1.0
    assert page.js(focused) == "parse"
    assert page.js(f"{FRAMES}.filter(f => f.tabIndex === 0).length") == 1
    page.driver.switch_to.active_element.send_keys("\ue00c")  # Escape
    assert boxes(page)["main > parse"] == 0.6


def test_both_themes_have_their_colours(opened: Opened) -> None:
    page = opened()
    fill = f"{FRAMES}[1].querySelector('rect').getAttribute('fill')"
    light = page.js(fill)
    page.find("#theme").click()
    assert page.js(fill) != light
    page = opened(dark=True)
    assert page.js(fill) != light


@pytest.mark.parametrize("width", [320, 390, 768])
@pytest.mark.parametrize("name", ["known", "deep", "hostile"])
def test_a_phone_needs_no_sideways_scrolling(opened: Opened, width: int, name: str) -> None:
    page = opened(name, width)
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js("document.querySelector('.boxes svg').getBoundingClientRect().right") <= width
    assert page.js("document.querySelector('.boxes svg').getBoundingClientRect().width") > width / 2


def test_it_follows_the_window(opened: Opened) -> None:
    page = opened()
    width = "document.querySelector('.boxes svg').getBoundingClientRect().width"
    wide = page.js(width)
    page.screen(500, 900)
    page.until(lambda: page.js(width) < wide / 2)


def test_hostile_names_are_only_text(opened: Opened) -> None:
    page = opened("hostile")
    assert f"{HOSTILE}main > {HOSTILE}parse" in boxes(page)
    page.find(".flame .search").send_keys("<img")
    page.find(".flame .inverted").click()
    page.until(lambda: HOSTILE in page.js(f"{FRAMES}.map(f => f.textContent).join('|')"))
    assert page.js("document.querySelectorAll('img').length") == 0
    assert page.js("document.querySelectorAll('script').length") == 6


def test_a_deep_graph_is_as_high_as_its_stacks(opened: Opened) -> None:
    page = opened("deep")
    rows = 1 + page.js(f"Math.max(...{FRAMES}.map(f => d3.select(f).datum().depth))")
    assert rows > 90
    assert page.js("document.querySelector('.boxes svg').getBoundingClientRect().height") == 20 * rows
    assert "Estimated from samples" in page.find(".flame figcaption").text
