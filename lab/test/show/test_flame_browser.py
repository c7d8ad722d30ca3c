"""The flame graph in a browser: measures, inverted, search, zoom, keys, themes, phones, hostile names."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import chromium
import msgspec
import pytest
from lab.test.answer.test_browser import Page
from samples import HOSTILE, profile_of, report_of

from reap.answer.html import write_html
from reap.answer.records import Answer
from reap.show.part import FlamePart, ProfilePart
from reap.show.records import Flame, Slices

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


def broad() -> Flame:
    """Main calls 600 functions of about the same size, each of which calls three one after another."""
    parents, names, own = [-1], ["main"], [0]
    for number in range(600):
        above = 0
        for depth in range(4):
            parents.append(above)
            above = len(names)
            names.append(f"function_{number}_{depth}")
            own.append(1000 + number if depth == 3 else 0)
    return msgspec.structs.replace(
        known(),
        functions=names,
        parents=parents,
        at=list(range(len(names))),
        own=dict.fromkeys(known().own, own),
        least=0.0,
    )


def timed(prefix: str = "") -> Flame:
    """The same in ten slices of a second: parse first, by the main thread, then the others."""
    held = known(prefix)
    rows = {"allocations": [(1, 10), (6, 50), (7, 40)], "bytes": [(1, 6000), (6, 3000), (7, 1000)]}
    values = {measure: [list(pair) for pair in pairs] for measure, pairs in rows.items()}
    values["peak"] = [[1, 6000, 5, 0], [6, 3000, 8, 0], [7, 500]]
    values["temporary"] = [[], [6, 50], []]
    values["live-at-exit"] = [[], [], []]
    return msgspec.structs.replace(
        held,
        runtime=[2],
        slices=Slices(
            seconds=1.0,
            count=10,
            threads=["main thread", f"{prefix}thread 1"],
            box=[2, 4, 5],
            thread=[0, 1, 1],
            values=values,
        ),
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("flames")
    for name, held in (
        ("known", known()),
        ("deep", deep()),
        ("hostile", timed(HOSTILE)),
        ("timed", timed()),
        ("broad", broad()),
    ):
        parts = [ProfilePart(profile=profile_of(depth="full")), FlamePart(flame=held)]
        write_html(report_of(Answer(title="perl", command=["perl"], parts=parts)), made / f"{name}.html")
    return made


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
    widths = f"{FRAMES}.map(f => f.querySelector('rect').getBoundingClientRect().width)"
    page.until(lambda: max(page.js(widths)) > 800)


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


def slide(page: Page, slider: str, value: int) -> None:
    """Moves a slider as a finger does."""
    page.js(
        "(s => { s.value = arguments[1]; s.dispatchEvent(new Event('input')) })"
        "(document.querySelector(`.flame .${arguments[0]}`))",
        slider,
        value,
    )


def top(page: Page) -> set[str]:
    return {path for path in boxes(page) if path.count(" > ") == 1}


def test_a_span_of_time_has_what_was_allocated_in_it(opened: Opened) -> None:
    page = opened("timed")
    assert page.find(".flame .chosen").text == "whole time"
    slide(page, "to", 5)
    page.until(lambda: top(page) == {"main > parse"})
    assert page.find(".flame .chosen").text == "0 s to 5.00 s"
    assert page.find(".flame .to").get_attribute("aria-valuetext") == "5.00 s"
    page.find(".flame .whole").click()
    page.until(lambda: len(top(page)) == 3)
    slide(page, "from", 6)
    page.until(lambda: top(page) == {"main > render", "main > plain"})
    assert boxes(page)["main > render"] == 0.75
    slide(page, "to", 2)
    page.until(lambda: top(page) == {"main > parse"})
    assert page.find(".flame .chosen").text == "1.00 s to 2.00 s", "the other slider gives way"


def test_in_a_span_bytes_in_use_are_those_of_its_highest_moment(opened: Opened) -> None:
    page = opened("timed")
    choose(page, "peak")
    slide(page, "from", 5)
    page.until(lambda: top(page) == {"main > render", "main > plain"})
    assert boxes(page)["main > plain"] == pytest.approx(1 / 7, abs=0.001), "500 of 3500 in slice 7"


def test_the_arrow_keys_choose_a_span(opened: Opened) -> None:
    page = opened("timed")
    page.find(".flame .to").send_keys("\ue012" * 5)
    page.until(lambda: page.find(".flame .chosen").text == "0 s to 5.00 s")
    page.until(lambda: top(page) == {"main > parse"})


def test_the_mouse_marks_a_span_in_the_chart(opened: Opened) -> None:
    page = opened("timed")
    page.show("#answer-0-live .chart")
    left, y = page.js(
        "(() => { const r = document.querySelector('#answer-0-live .chart').getBoundingClientRect();"
        " const chart = reapReport.charts['answer-0-live'];"
        " return [r.x + chart.convertToPixel({xAxisIndex: 0}, 6.2), r.y + r.height / 2] })()"
    )
    right = left + page.js(
        "(c => c.convertToPixel({xAxisIndex: 0}, 8.7) - c.convertToPixel({xAxisIndex: 0}, 6.2))"
        "(reapReport.charts['answer-0-live'])"
    )
    page.mouse("mouseMoved", left, y)
    page.mouse("mousePressed", left, y, button="left", clickCount=1)
    page.mouse("mouseMoved", right, y, button="left", buttons=1)
    page.mouse("mouseReleased", right, y, button="left", clickCount=1)
    page.until(lambda: page.find(".flame .chosen").text == "6.00 s to 9.00 s")
    page.until(lambda: top(page) == {"main > render", "main > plain"})
    page.mouse("mouseMoved", left - 100, y)
    assert page.find(".flame .chosen").text == "6.00 s to 9.00 s", "the button was released"


def test_live_bytes_are_shown_by_site(opened: Opened) -> None:
    page = opened("timed")
    sites = [each for each in page.option("answer-0-live")["series"] if each.get("id") != "chosen"]
    assert [each["name"] for each in sites] == ["parse", "render", "plain"], "allocate is passed over"
    assert [size for _, size in sites[0]["data"]] == [0, 6000, 6000, 6000, 6000, 0, 0, 0, 0, 0]
    page.find("#answer-0-live summary").click()
    table = "document.querySelector('#answer-0-live table')?.textContent"
    page.until(lambda: "plain" in (page.js(table) or ""))


def test_one_thread_can_be_shown(opened: Opened) -> None:
    page = opened("timed")
    page.find(".flame .thread option[value='1']").click()
    assert top(page) == {"main > render", "main > plain"}
    slide(page, "from", 7)
    page.until(lambda: top(page) == {"main > plain"})


def test_runtime_functions_can_be_hidden(opened: Opened) -> None:
    page = opened("timed")
    page.find(".flame .hide").click()
    assert boxes(page) == {
        "all": 1,
        "main": 1,
        "main > parse": 0.6,
        "main > render": 0.3,
        "main > plain": 0.1,
    }


def test_from_the_bottom_up_the_outermost_is_lowest(opened: Opened) -> None:
    page = opened("timed")
    page.find(".flame .upwards").click()
    bottoms = (
        f"Object.fromEntries({FRAMES}.map(f => [d3.select(f).datum().data.name,"
        " f.getBoundingClientRect().bottom]))"
    )
    chart = "document.querySelector('.boxes').getBoundingClientRect()"
    page.until(lambda: abs(page.js(bottoms)["all"] - page.js(f"{chart}.bottom")) <= 2)
    places = page.js(bottoms)
    assert places["all"] > places["main"] > places["parse"] > places["allocate"]
    assert places["allocate"] == pytest.approx(page.js(f"{chart}.top") + 20, abs=2), "no empty rows above it"


def test_the_table_is_saved_as_csv_as_it_is_shown(opened: Opened) -> None:
    page = opened("timed")
    page.js("(data.save = (...all) => { window.saved = all })")
    page.find(".sortable input").send_keys("hv.c")
    page.find(".sortable .csv").click()
    name, text, kind = page.js("window.saved")
    assert (name, kind) == ("answer-0-table.csv", "text/csv")
    head, *rows = text.split("\r\n")
    assert head == "Site,Place,Share,Bytes,Objects,Temporary,Live at peak"
    shown = page.js("[...document.querySelectorAll('.sites tbody tr')].filter(r => !r.hidden).length")
    assert len(rows) - 1 == shown < page.js("document.querySelectorAll('.sites tbody tr').length")
    assert page.js("""data.csv([["=1+1", 'a "b", c', 3]])""") == '\'=1+1,"a ""b"", c",3\r\n'


def test_a_deep_graph_is_as_high_as_its_stacks(opened: Opened) -> None:
    page = opened("deep")
    rows = 1 + page.js(f"Math.max(...{FRAMES}.map(f => d3.select(f).datum().depth))")
    assert rows > 90
    assert page.js("document.querySelector('.boxes svg').getBoundingClientRect().height") == 20 * rows
    assert "Estimated from samples" in page.find(".flame figcaption").text


def test_of_a_broad_graph_what_is_narrow_is_closed_until_it_is_zoomed(opened: Opened) -> None:
    page = opened("broad")
    drawn = page.js(f"{FRAMES}.map(f => d3.select(f).datum().data.name)")
    assert {f"function_{number}_0" for number in range(600)} <= set(drawn), "a row is whole"
    assert len(drawn) <= 1000
    assert "function_599_3" not in drawn
    assert page.find(".flame .closed").text.endswith("zoom into one to see what is inside.")
    word = page.find(".flame .search")
    word.send_keys("function_599_3")
    assert page.find(".flame .found").text == "1 function, 0.2 %", "what is closed is found, too"
    word.clear()
    word.send_keys("x\ue003")
    page.js(f"{FRAMES}.find(f => d3.select(f).datum().data.name === 'function_599_0').focus()")
    page.driver.switch_to.active_element.send_keys("\ue007")  # Enter
    assert set(boxes(page)) == {
        "all",
        "main",
        "main > function_599_0",
        "main > function_599_0 > function_599_1",
        "main > function_599_0 > function_599_1 > function_599_2",
        "main > function_599_0 > function_599_1 > function_599_2 > function_599_3",
    }
    assert page.find(".flame .closed").text == ""
    assert page.js("d3.select(document.activeElement).datum().data.name") == "function_599_0"
