"""The page of `reap rss` in a browser: owners over time, and a small chart of each remedy that was tried."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from lab.test.answer.test_browser import Page, opening
from lab.test.rss.moments import residence_of
from lab.test.rss.test_trials import trials_of, tried_of
from msgspec.structs import replace
from samples import HOSTILE

from reap.draw.html import MOST_BYTES
from reap.launch.host.machine import describe
from reap.rss import page as pages
from reap.rss.records import NAMES, Parts, Residence, Taken
from reap.rss.trials.records import Change, Trials, Tried, Trim

pytestmark = [pytest.mark.browser, chromium.needed]

MB = 1 << 20
WORKED = [Parts(live=at * MB, inside=3 * MB, files=7 * MB, stack=MB) for at in range(1, 40)]
PINNED = [Parts(live=2 * MB, inside=5 * MB, files=7 * MB, stack=MB, pinned=at * MB) for at in range(1, 62)]
FREED = [Parts(live=2 * MB, inside=2 * MB, files=7 * MB, stack=MB)] * 61


def over_time(parts: list[Parts], **more: Any) -> Residence:
    """A process that had these one after another, a tenth of a second each."""
    moments = [
        Taken(seconds=0.1 * at, resident=whole(each), parts=each, said=True) for at, each in enumerate(parts)
    ]
    return replace(residence_of(*moments), command=["server", HOSTILE], **more)


def whole(parts: Parts) -> int:
    return sum(getattr(parts, name) for name in NAMES)


def curve(*sizes: int) -> list[tuple[float, int]]:
    return [(0.5 * at, size * MB) for at, size in enumerate(sizes)]


def measured() -> Trials:
    """A trim that gives most, another remedy, and one of which nothing could be measured."""
    often = replace(tried_of("trims", 12 * MB), curve=curve(20, 40, 12), trim=Trim(first=0.5, every=0.25))
    jemalloc = replace(tried_of("jemalloc", 60 * MB), curve=curve(20, 40, 60, 60))
    failed = Tried(change=Change(name=HOSTILE), problem="exit status 1 instead of 0")
    return replace(trials_of(often, jemalloc, failed), curve=curve(20, 50, 100, 100))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("pages")
    usual = [("server", over_time(WORKED + PINNED)), (HOSTILE, over_time(WORKED, processes=3))]
    (made / "plain.html").write_text(pages.page("Memory", usual, ["reap", HOSTILE], describe()))
    best = over_time(WORKED + FREED)
    tried = pages.page("Memory", usual, ["reap"], describe(), measured(), best)
    assert len(tried.encode()) < MOST_BYTES
    (made / "tried.html").write_text(tried)
    return made


@pytest.fixture
def opened(browser: Any, folder: Path) -> Iterator[Any]:
    with opening(browser, folder) as open_page:
        yield open_page


def hovered(page: Page, figure: str, at: float) -> str:
    """The words of the tooltip at a share of the chart's width."""
    box = page.show(f"#{figure} .chart").rect
    top = page.js("document.querySelector(`#${arguments[0]} .chart`).getBoundingClientRect().top", figure)
    left = page.js(
        "reapReport.charts[arguments[0]].convertToPixel({xAxisIndex: 0}, arguments[1])", figure, 10.0 * at
    )
    page.mouse("mouseMoved", box["x"] + left, top + box["height"] / 2)
    return page.until(lambda: page.js("document.querySelector(`#${arguments[0]} .tip`)?.innerText", figure))


def rows(text: str) -> dict[str, str]:
    """The named values of a tooltip, below its heading."""
    _, *lines = [each for each in text.splitlines() if each]
    return dict(zip(lines[::2], lines[1::2], strict=True))


def test_areas_sum_to_the_memory_of_the_moment_that_is_pointed_at(opened: Any) -> None:
    page = opened("plain")
    said = rows(hovered(page, "chart-0-owners", 0.6))
    assert said.pop("resident") == "37.0 MiB"
    assert {NAMES["pinned"], NAMES["live"], NAMES["inside"], NAMES["files"], NAMES["stack"]} == {*said}
    assert sum(float(each.removesuffix(" MiB")) for each in said.values()) == pytest.approx(37, abs=0.1)
    for number, moments in enumerate([WORKED + PINNED, WORKED]):
        *areas, _ = page.option(f"chart-{number}-owners")["series"]
        assert {each["stack"] for each in areas} == {"all"}
        sums = [sum(point[1] for point in at) for at in zip(*(each["data"] for each in areas), strict=True)]
        assert sums == [whole(each) for each in moments]


def test_a_legend_names_owners_each_of_a_colour_of_its_own(opened: Any) -> None:
    page = opened("plain")
    drawn = page.text("chart-0-owners")
    shown = [NAMES[name] for name in ("pinned", "inside", "live", "stack", "files")]
    assert [each for each in drawn if each in NAMES.values()] == shown, "as they lie on each other"
    *areas, _ = page.option("chart-0-owners")["series"]
    of = {each["name"]: each["itemStyle"]["color"] for each in areas}
    assert len({*of.values()}) == len(of) == 5
    *others, _ = page.option("chart-1-owners")["series"]
    assert {each["name"]: each["itemStyle"]["color"] for each in others}.items() <= of.items()
    assert "settled: 39.0 MiB" not in drawn
    assert any(each.startswith("settled: ") for each in drawn)


def test_every_owner_has_a_colour_that_no_other_has(opened: Any) -> None:
    every = [("all", over_time([Parts(**dict.fromkeys(NAMES, MB))] * 3))]
    page = opened("plain")
    path = page.js("location.href").removeprefix("file://").replace("plain", "every")
    Path(path).write_text(pages.page("Memory", every, ["reap"], describe()))
    page = opened("every")
    *areas, _ = page.option("chart-0-owners")["series"]
    colours = [each["itemStyle"]["color"] for each in areas]
    assert len(colours) == len({*colours}) == len(NAMES)
    assert None not in colours


def test_a_small_chart_of_each_remedy_on_one_scale(opened: Any) -> None:
    page = opened("tried")
    small = page.js("[...document.querySelectorAll('.multiples figure')].map(f => f.id)")
    names = page.js("[...document.querySelectorAll('.multiples h4')].map(h => h.textContent)")
    assert names == ["as it is", "trims", "jemalloc", HOSTILE]
    options = [page.option(each) for each in small]
    assert len({(each["xAxis"][0]["max"], each["yAxis"][0]["max"]) for each in options}) == 1
    trims = options[1]["series"][-1]["markLine"]["data"]
    assert [each["yAxis"] for each in trims[:2]] == [100 * MB, 12 * MB], "settled memory"
    assert [each["xAxis"] for each in trims[2:]] == [0.5, 0.75, 1.0], "until its run ended"
    captions = page.js("[...document.querySelectorAll('.multiples figcaption p')].map(p => p.textContent)")
    captions = [each.replace("\u00a0", " ") for each in captions]
    assert captions[0] == "100 MiB settled"
    assert captions[1] == "12.0 MiB settled (95 % CI 11.9 MiB to 12.1 MiB): less"
    assert captions[3] == "failed: exit status 1 instead of 0"
    assert len(options[3]["series"][1]["data"]) == 0


def test_the_best_remedy_is_drawn_by_owner_with_a_line_at_each_trim(opened: Any) -> None:
    page = opened("tried")
    headings = page.js("[...document.querySelectorAll('section > h2')].map(h => h.textContent)")
    assert headings[1:3] == ["server", "With trims"]
    usual, best = (page.option(f"chart-{number}-owners") for number in (4, 5))
    assert usual["yAxis"][0]["max"] == best["yAxis"][0]["max"], "the same scale"
    (_, *lines) = best["series"][-1]["markLine"]["data"]
    assert len(lines) == 38
    assert [each["xAxis"] for each in lines[:2]] == [0.5, 0.75]
    assert "malloc_trim, every 250 ms" in page.text("chart-5-owners")
    assert len(usual["series"][-1]["markLine"]["data"]) == 1, "settled memory alone"


@pytest.mark.parametrize("name", ["plain", "tried"])
@pytest.mark.parametrize("dark", [False, True])
def test_a_page_fits_a_phone_and_both_themes(opened: Any, name: str, *, dark: bool) -> None:
    page = opened(name, 400, dark=dark)
    assert page.js("document.documentElement.scrollWidth <= innerWidth")
    charts = page.js("[...document.querySelectorAll('figure[data-figure]')].map(f => f.id)")
    assert sorted(charts) == sorted(page.js("Object.keys(reapReport.charts)"))
    ink = page.js("getComputedStyle(document.documentElement).getPropertyValue('--ink').trim()")
    assert page.option(charts[0])["textStyle"]["color"] == ink
    page.find("#theme").click()
    assert page.option(charts[0])["textStyle"]["color"] != ink
    page.js("localStorage.clear()")
