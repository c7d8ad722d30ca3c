"""Pages of drag and of a fragmented heap in a browser: layers, scales, and a map of every cell."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from lab.test.answer.test_browser import Page, opening
from lab.test.drag.test_page import HOSTILE, changed, level, profile_of, site
from lab.test.fragment.test_heap_map import a_map

from reap.base.records import Estimate
from reap.commandline.tables import write_page
from reap.drag.exact import page as exact
from reap.drag.sample import page as sampling
from reap.drag.sample.records import SampledDrag, SampledPoint, SampledProcess, SampledSite
from reap.fragment import words

pytestmark = [pytest.mark.browser, chromium.needed]

THIN = level(needed=950.0, sites=[site(HOSTILE, 0.6, [30.0, 30.0]), site("rest", 0.4)])
LEVELS = profile_of(changed(level(needed=1000.0), before_free=level()), THIN)


def sampled() -> SampledDrag:
    share = Estimate(value=0.6, low=0.5, high=0.7)
    common: dict[str, Any] = {"samples": 90, "bytes": 9.0, "share": share, "few": False}
    process = SampledProcess(
        pid=7, program="/usr/bin/perl", allocated=20 << 20, samples=400, few=False, largest=0.01,
        drag=Estimate(value=2.0, low=1.8, high=2.2), peak=4e6, peak_ratio=2.0, engine_seconds=0.1,
        sites=[SampledSite(function=HOSTILE, location="a.c:1", module="a", stack=[], **common)],
        curve=[SampledPoint(live=1000.0 * at, needed=600.0 * at) for at in range(10)],
    )  # fmt: skip
    return SampledDrag(command=["perl"], engine="sample", status=0, processes=[process])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    (made / "exact.html").write_text(exact.render(LEVELS))
    name = "std::vector<int, std::allocator<int> >::push_back"
    alike = level(sites=[site(name, 0.129, [60.0, 60.0]), site(name, 0.129, [60.0, 60.0]), site("c", 0.7)])
    (made / "alike.html").write_text(exact.render(profile_of(alike)))
    (made / "sampled.html").write_text(sampling.render(sampled()))
    heap = a_map()
    write_page(made / "heap.html", "Heap", ["It ran."], [], force=False, figure=(words.figure(heap), heap))
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Any]:
    with opening(browser, folder) as open_page:
        yield open_page


def layers(page: Page, number: int) -> dict[str, list[float]]:
    """Bytes of each series of a figure, the lowest first."""
    figure = page.js("Object.keys(reapReport.charts)")[number]
    series = page.option(figure)["series"]
    return {each["name"]: [round(point[1], 6) for point in each["data"]] for each in series}


def test_what_is_dragged_lies_on_what_is_needed_by_site(opened: Any) -> None:
    page = opened("exact")
    shown = layers(page, 1)
    assert list(shown) == [
        "needed",
        "big (work.c:7) 50 %",
        "small (work.c:7) 30 %",
        "all others 20 %",
        "most in use",
    ]
    assert [held[0] for held in shown.values()] == [400, 300, 200, 100, 1000]
    figure = page.js("Object.keys(reapReport.charts)")[1]
    assert {"0 B", "allocated"} <= set(page.text(figure))


def test_a_small_difference_is_drawn_on_a_scale_of_its_own(opened: Any) -> None:
    page = opened("exact")
    last = layers(page, 3)
    assert [held[0] for held in last.values()] == [30, 20]
    figure = page.js("Object.keys(reapReport.charts)")[3]
    assert page.option(figure)["yAxis"][0]["max"] < 100


def test_names_of_layers_are_whole_and_one_each(opened: Any) -> None:
    """A share lost its first digit, and lines of one function had one entry."""
    page = opened("alike")
    names = list(layers(page, 0))[1:3]
    assert len(set(names)) == 2
    assert all("(work.c:7) 12.9 %" in name for name in names)
    figure = page.js("Object.keys(reapReport.charts)")[0]
    assert set(names) <= set(page.text(figure))


def test_a_map_is_laid_out_again_with_the_window(opened: Any) -> None:
    page = opened("heap", 1200)
    widths = "[...document.querySelectorAll('.chart svg')].map(s => s.getBoundingClientRect().right)"
    page.screen(700, 900)
    (figure,) = page.js("Object.keys(reapReport.charts)")
    page.until(lambda: page.option(figure)["grid"][1]["left"] == 0)
    assert max(page.js(widths)) <= 700


def test_samples_have_two_layers(opened: Any) -> None:
    shown = layers(opened("sampled", dark=True), 0)
    assert list(shown) == ["needed", "dragged"]
    assert [held[-1] for held in shown.values()] == [5400, 3600]
    assert [len(held) for held in shown.values()] == [11, 11], "each stretch, and the end of the last"


def test_the_map_has_every_cell_twice_and_the_programs_on_top(opened: Any) -> None:
    page = opened("heap")
    (figure,) = page.js("Object.keys(reapReport.charts)")
    series = page.option(figure)["series"]
    assert [len(each["data"]) for each in series] == [200] * 5
    litter, program = series[1]["data"], series[4]["data"]
    assert [each["itemStyle"]["opacity"] for each in litter[:2]] == [0.5, 0]
    assert [each["itemStyle"]["opacity"] for each in program[:2]] == [0, 1]
    assert page.js("document.querySelectorAll('figure svg path').length") >= 5 * 200


@pytest.mark.parametrize("width", [320, 390, 768])
@pytest.mark.parametrize("name", ["exact", "sampled", "heap"])
def test_a_phone_needs_no_sideways_scrolling(opened: Any, name: str, width: int) -> None:
    page = opened(name, width)
    assert page.js("document.documentElement.scrollWidth") <= width
    rights = page.js(
        "[...document.querySelectorAll('.chart svg *')].map(s => s.getBoundingClientRect().right)"
    )
    assert max(rights) <= width
