"""The page in a real browser: it draws, it reacts, it asks the network for nothing and logs nothing."""

import base64
import json
import re
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import chromium
import pytest
from answers import changed
from fragmented_samples import fragmented_answer
from lab.test.drag import test_page as drags
from lab.test.wall.test_report import tried
from samples import HOSTILE, hostile_report, report_of, three_answers

from reap.answer.html import write_html
from reap.answer.records import Answer

pytestmark = [pytest.mark.browser, chromium.needed]


def walled() -> Answer:
    """A program at the wall, with a flame graph and with drag, whose names are long."""
    long = "a_namespace::" * 20
    stacks = [f"main;{long}parse;malloc_[a] 30", "main;read;vfs_read_[k] 10"]
    dragged = drags.profile_of(
        drags.level(sites=[drags.site(f"{long}make", 1.0, [600.0, 600.0])]), processes=3
    )
    return changed(tried(), stacks=stacks, drag=dragged)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    write_html(three_answers(), made / "three.html")
    write_html(hostile_report(), made / "hostile.html")
    write_html(report_of(fragmented_answer()), made / "heaps.html")
    write_html(report_of(walled()), made / "wall.html")
    return made


class Page:
    """A page that is open, and what a test asks of it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(f"return {script}", *arguments)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def show(self, selector: str) -> Any:
        """The element, scrolled to the middle of the window and at rest there."""
        element = self.find(selector)
        self.driver.execute_script(
            "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element
        )
        return element

    def option(self, figure: str) -> Any:
        return self.js("reapReport.charts[arguments[0]].getOption()", figure)

    def until(self, truth: Callable[[], Any], seconds: float = 5.0) -> Any:
        end = time.monotonic() + seconds
        while not (held := truth()):
            assert time.monotonic() < end, "it never came true"
            time.sleep(0.02)
        return held

    def screen(self, width: int, height: int, *, dark: bool = False) -> None:
        phone = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def text(self, figure: str) -> list[str]:
        """Every text that a chart has drawn."""
        return self.js(
            "[...document.querySelectorAll(`#${arguments[0]} svg text`)].map(t => t.textContent)", figure
        )

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.driver.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **more})

    def click_at(self, x: float, y: float) -> None:
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.mouse(kind, x, y, button="left", clickCount=1)


@contextmanager
def opening(browser: Any, folder: Path) -> Iterator[Callable[..., Page]]:
    """Opens a page by its name; in the end it must have kept quiet."""
    page = Page(browser)

    def open_page(name: str = "three", width: int = 1200, height: int = 900, *, dark: bool = False) -> Page:
        page.screen(width, height, dark=dark)
        browser.get((folder / f"{name}.html").as_uri())
        page.until(lambda: page.js("window.reapReport && reapReport.ready"))
        return page

    with chromium.quiet(browser, folder):
        yield open_page
    page.js("localStorage.clear()")


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Callable[..., Page]]:
    with opening(browser, folder) as open_page:
        yield open_page


Opened = Callable[..., Page]


def test_every_figure_is_drawn(opened: Opened) -> None:
    page = opened()
    figures = page.js("[...document.querySelectorAll('figure')].map(f => f.id)")
    assert len(figures) == 27
    assert sorted(figures) == sorted(page.js("Object.keys(reapReport.charts)"))
    for figure in figures:
        assert page.js("document.querySelectorAll(`#${arguments[0]} svg path`).length", figure) > 3, figure
        assert (
            page.js("document.querySelector(`#${arguments[0]} svg`).getBoundingClientRect().width", figure)
            > 300
        )
    assert "Perl_newSV" in page.text("answer-0-sites")
    assert {"jemalloc", "mimalloc", "tcmalloc"} <= set(page.text("answer-0-forest-cpu"))


def test_figures_of_fragmented_heaps_are_drawn(opened: Opened) -> None:
    page = opened("heaps")
    figures = page.js("[...document.querySelectorAll('figure')].map(f => f.id)")
    ratios = [f"levels-{field}" for field in ("normalised", "slowdown", "to_custom", "to_best")]
    assert figures == [f"answer-0-{kind}" for kind in [*ratios, "split", "misses", "litter"]]
    assert sorted(figures) == sorted(page.js("Object.keys(reapReport.charts)"))
    bars, *whiskers = page.option("answer-0-levels-normalised")["series"]
    assert (len(bars["data"]), len(whiskers)) == (16, 16)
    assert [mark["xAxis"] for mark in bars["markLine"]["data"]] == [1]
    assert bars["data"][10]["value"] == pytest.approx(4.48), "naive, glibc, adv3"
    assert len({bar["itemStyle"]["color"] for bar in bars["data"]}) == 4, "a colour a level"
    text = page.text("answer-0-levels-normalised")
    assert "naive glibc  adv0" in text
    assert text.count("adv10") == 4
    inside, outside = page.option("answer-0-split")["series"]
    assert inside["data"][8] + outside["data"][8] == pytest.approx(2.8)
    time_, last, first, work = page.option("answer-0-misses")["series"]
    assert len(work["data"]) == 12, "adv0 is what the others are ratios to"
    assert last["data"][7] == pytest.approx(3.2**2)
    assert first["data"][7] == pytest.approx(time_["data"][7]) == pytest.approx(3.2)
    assert set(work["data"]) == {1}
    page.show("#answer-0-litter summary").click()
    page.until(lambda: page.js("document.querySelectorAll('#answer-0-litter .under tbody tr').length") == 4)


def test_the_noise_and_the_line_at_1_are_in_the_forest(opened: Opened) -> None:
    series = opened().option("answer-0-forest-cpu")["series"]
    dots = series[-1]
    assert [mark["xAxis"] for mark in dots["markLine"]["data"]] == [1]
    low, high = dots["markArea"]["data"][0]
    assert low["xAxis"] == pytest.approx(0.995)
    assert high["xAxis"] == pytest.approx(1.007)
    assert len(series) == 4


def test_a_tooltip_follows_the_pointer(opened: Opened) -> None:
    page = opened()
    box = page.show("#answer-0-memory .chart").rect
    top = page.js("document.querySelector('#answer-0-memory .chart').getBoundingClientRect().top")
    page.mouse("mouseMoved", box["x"] + box["width"] / 2, top + box["height"] / 2)
    shown = page.until(lambda: page.js("document.querySelector('#answer-0-memory .tip')?.innerText"))
    assert "live" in shown
    assert "MiB" in shown
    page.mouse("mouseMoved", box["x"] + box["width"] / 4, top + box["height"] / 2)
    page.until(lambda: page.js("document.querySelector('#answer-0-memory .tip')?.innerText") != shown)


def test_a_legend_hides_a_curve(opened: Opened) -> None:
    page = opened()
    page.show("#answer-0-memory .chart")
    place = page.js(
        "(() => { const t = [...document.querySelectorAll('#answer-0-memory svg text')]"
        ".find(t => t.textContent === 'resident').getBoundingClientRect();"
        " return [t.x + t.width / 2, t.y + t.height / 2] })()"
    )
    page.click_at(*place)
    page.until(lambda: page.option("answer-0-memory")["legend"][0]["selected"].get("resident") is False)
    page.find("#theme").click()
    assert page.option("answer-0-memory")["legend"][0]["selected"]["resident"] is False, "lost with the theme"


def test_zooming_one_curve_zooms_its_neighbour(opened: Opened) -> None:
    page = opened()
    page.show("#answer-0-memory .chart")
    box = page.js("document.querySelector('#answer-0-memory .chart').getBoundingClientRect().toJSON()")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    before = page.js("scrollY")
    page.mouse("mouseMoved", x, y)
    page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-240, modifiers=2)
    page.until(lambda: page.option("answer-0-memory")["dataZoom"][0]["end"] < 99)
    page.until(lambda: page.option("answer-0-rates")["dataZoom"][0]["end"] < 99)
    assert page.option("answer-1-memory")["dataZoom"][0]["end"] == 100
    assert page.js("scrollY") == before


def test_sizes_can_be_seen_as_bytes(opened: Opened) -> None:
    page = opened()
    page.show("#answer-0-sizes .chart")
    assert page.option("answer-0-sizes")["yAxis"][0]["type"] == "log"
    place = page.js(
        "(() => { const t = [...document.querySelectorAll('#answer-0-sizes svg text')]"
        ".find(t => t.textContent === 'bytes').getBoundingClientRect();"
        " return [t.x + t.width / 2, t.y + t.height / 2] })()"
    )
    page.click_at(*place)
    page.until(lambda: page.option("answer-0-sizes")["legend"][0]["selected"].get("bytes"))
    assert page.option("answer-0-sizes")["legend"][0]["selected"]["objects"] is False


def test_the_theme_can_be_chosen_and_is_remembered(opened: Opened) -> None:
    page = opened()
    ground = "getComputedStyle(document.body).backgroundColor"
    ink = "document.querySelector('#answer-0-sites svg text').getAttribute('fill')"
    light = page.js(f"[{ground}, {ink}]")
    page.find("#theme").click()
    dark = page.js(f"[{ground}, {ink}]")
    assert light[0] != dark[0]
    assert light[1] != dark[1]
    assert page.find("#theme").get_attribute("aria-pressed") == "true"
    page = opened()
    assert page.js(f"[{ground}, {ink}]") == dark
    page.find("#theme").click()
    assert page.js(f"[{ground}, {ink}]") == light


def test_the_systems_theme_is_followed(opened: Opened) -> None:
    page = opened(dark=True)
    assert (
        page.js("getComputedStyle(document.documentElement).getPropertyValue('--page')").strip() == "#121418"
    )
    page.screen(1200, 900, dark=False)
    page.until(lambda: page.find("#theme").get_attribute("aria-pressed") == "false")


@pytest.mark.parametrize("width", [320, 390, 768])
@pytest.mark.parametrize("name", ["three", "hostile", "heaps", "wall"])
def test_a_phone_needs_no_sideways_scrolling(opened: Opened, width: int, name: str) -> None:
    page = opened(name, width, 800)
    assert page.js("document.documentElement.scrollWidth") <= width
    assert page.js("innerWidth") == width
    widths = page.js("[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right)")
    assert max(widths) <= width


def test_drag_of_closed_processes_is_drawn_when_they_are_opened(opened: Opened) -> None:
    page = opened("wall", 390, 800)
    boxes = page.js("[...document.querySelectorAll('.flame g.frame')].map(f => f.getAttribute('aria-label'))")
    assert "malloc (the allocator's): 75 % (30 samples)" in boxes
    assert page.js("[...document.querySelectorAll('details.process')].map(d => d.open)") == [False, False]
    width = "document.querySelector('#answer-0-drag-all-2_0 svg').getBoundingClientRect().width"
    page.js("document.querySelectorAll('details.process').forEach(d => { d.open = true; })")
    page.until(lambda: page.js(width) > 300)
    assert page.js("document.documentElement.scrollWidth") <= 390


def test_charts_follow_the_window(opened: Opened) -> None:
    page = opened(width=1200)
    width = "document.querySelector('#answer-0-memory svg').getBoundingClientRect().width"
    wide = page.js(width)
    page.screen(500, 900)
    page.until(lambda: page.js(width) < wide / 2)


SITES = "#answer-0 .sortable"
SHOWN = f"[...document.querySelectorAll('{SITES} tbody tr')].filter(r => !r.hidden)"


def test_sites_are_sorted_by_any_column(opened: Opened) -> None:
    page = opened()
    objects = f"{SHOWN}.map(r => Number(r.cells[3].dataset.value))"
    names = f"{SHOWN}.map(r => r.cells[0].textContent.trim().toLowerCase())"
    heads = page.driver.find_elements("css selector", f"{SITES} thead button")
    assert [head.text for head in heads] == ["Site", "Share", "Bytes", "Objects", "Temporary", "Live at peak"]
    page.show(f"{SITES} thead")
    heads[3].click()
    held = page.js(objects)
    assert held == sorted(held, reverse=True)
    assert len(set(held)) > 10
    heads[3].send_keys("\ue007")
    assert page.js(objects) == sorted(held)
    assert heads[3].find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    heads[0].click()
    heads[0].click()
    assert page.js(names) == sorted(page.js(names))


def test_sites_are_filtered_and_opened(opened: Opened) -> None:
    page = opened()
    word = page.show(f"{SITES} input")
    word.send_keys("hv.c")
    assert 0 < page.js(f"{SHOWN}.length") < 40
    assert all("hv.c" in text for text in page.js(f"{SHOWN}.map(r => r.textContent)"))
    assert page.find(f"{SITES} [role=status]").text.endswith("of 40 rows")
    word.clear()
    word.send_keys("x")
    word.send_keys("\ue003")
    assert page.js(f"{SHOWN}.length") == 40
    first = page.find(f"{SITES} summary")
    first.send_keys(" ")
    assert "main (perlmain.c:127)" in page.find(f"{SITES} ol").text


def test_the_numbers_of_a_figure_can_be_read_and_saved(opened: Opened, tmp_path: Path) -> None:
    page = opened()
    page.driver.execute_cdp_cmd(
        "Browser.setDownloadBehavior",
        {"behavior": "allow", "downloadPath": str(tmp_path), "eventsEnabled": False},
    )
    page.show("#answer-0-sizes summary").click()
    page.until(lambda: page.js("document.querySelectorAll('#answer-0-sizes .under tbody tr').length") == 15)
    page.show("#answer-0-sizes .download").click()
    saved = page.until(lambda: list(tmp_path.glob("answer-0-sizes.json")))[0]
    rows = json.loads(saved.read_text())
    assert rows[4] == {
        "from bytes": 17,
        "to bytes": 32,
        "objects": rows[4]["objects"],
        "bytes": rows[4]["bytes"],
    }
    page.show("#whole").click()
    whole = page.until(lambda: list(tmp_path.glob("report.json")))[0]
    page.until(lambda: whole.stat().st_size > 10_000)
    assert json.loads(whole.read_text())["answers"][0]["title"] == "perl"


def test_the_command_can_be_copied(opened: Opened) -> None:
    page = opened()
    page.show("#answer-0-next")
    page.find("#answer-0 .copy").click()
    page.until(lambda: page.find("#answer-0 .copy").text in {"Copied", "Selected"})


def test_hostile_text_is_only_text(opened: Opened) -> None:
    page = opened("hostile")
    assert HOSTILE in page.find("h2").text
    assert page.js("document.querySelectorAll('img').length") == 0
    page.show("#answer-0-sites .chart")
    box = page.js("document.querySelector('#answer-0-sites .chart').getBoundingClientRect().toJSON()")
    page.mouse("mouseMoved", box["x"] + box["width"] * 0.6, box["y"] + 60)
    shown = page.until(lambda: page.js("document.querySelector('#answer-0-sites .tip')?.innerText"))
    assert "</script><img src=x onerror=alert(1)>" in shown
    page.js("document.querySelectorAll('details').forEach(d => { d.open = true })")
    page.until(lambda: page.js("document.querySelectorAll('#answer-0-sites .under tbody tr').length") > 1)
    assert page.js("document.querySelectorAll('img').length") == 0
    assert page.js("document.querySelectorAll('script').length") == 4


def test_it_prints(opened: Opened) -> None:
    page = opened(dark=True)
    before = page.js("document.querySelector('#answer-0-sites svg text').getAttribute('fill')")
    made = page.driver.execute_cdp_cmd("Page.printToPDF", {})
    assert len(made["data"]) > 50_000
    assert page.js("document.querySelector('#answer-0-sites svg text').getAttribute('fill')") == before
    assert page.js("document.documentElement.dataset.theme ?? null") is None


def texts_by_page(pdf: bytes) -> list[int]:
    """How many pieces of text each page of a PDF by Chromium shows."""
    objects = {
        int(number): body
        for number, body in re.findall(rb"(?:^|\n)(\d+) 0 obj\n(.*?)\nendobj", pdf, re.DOTALL)
    }

    def texts(number: int) -> int:
        body = objects[number]
        contents = re.search(rb"/Contents (\d+) 0 R", body)
        head, stream = (objects[int(contents[1])] if contents else body).split(b"stream\n", 1)
        stream = stream.rsplit(b"\nendstream", 1)[0]
        shown = (zlib.decompress(stream) if b"/FlateDecode" in head else stream).count(b"BT\n")
        drawn = {int(form) for form in re.findall(rb"/X\d+ (\d+) 0 R", body)}
        return shown + sum(texts(form) for form in drawn if b"/Form" in objects[form])

    tree = next(body for body in objects.values() if b"/Type /Pages" in body and b"/Parent" not in body)

    def pages(body: bytes) -> list[int]:
        kids = [int(kid) for kid in re.findall(rb"(\d+) 0 R", re.search(rb"/Kids \[(.*?)\]", body)[1])]
        return [page for kid in kids for page in (pages(objects[kid]) if b"/Kids" in objects[kid] else [kid])]

    return [texts(page) for page in pages(tree)]


@pytest.mark.parametrize("name", ["three", "hostile", "heaps", "wall"])
def test_no_printed_page_is_blank_and_the_first_is_full(opened: Opened, name: str) -> None:
    page = opened(name)
    made = page.driver.execute_cdp_cmd("Page.printToPDF", {"displayHeaderFooter": False})
    texts = texts_by_page(base64.b64decode(made["data"]))
    assert texts[0] > 20
    assert min(texts) > 0
