"""The documentation site in a real browser, through a server as a reader has it: menu, search, no network."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chromium
import pytest

from reap.cli.main import COMMANDS

pytestmark = [pytest.mark.browser, pytest.mark.site, chromium.needed]

SITE = Path(__file__).resolve().parents[3] / "build" / "docs" / "html"


class Quiet(SimpleHTTPRequestHandler):
    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Prints nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served."""
    assert (SITE / "index.html").exists(), "make docs"
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=SITE)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = chromium.started(tmp_path_factory.mktemp("profile"))
    started.set_window_size(1400, 900)  # a narrower one hides the tabs in a drawer
    yield started
    started.quit()


@pytest.fixture
def browser(driver: Any, address: str) -> Iterator[Any]:
    """The browser at the first page; afterwards, that it asked nobody else and logged nothing."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    driver.get(address)
    yield driver
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    sent = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    asked = [s["request"]["url"] for s in sent if s["documentURL"].startswith("http")]
    assert asked
    assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []


def until(truth: Callable[[], Any], seconds: float = 10.0) -> Any:
    end = time.monotonic() + seconds
    while not (held := truth()):
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.05)
    return held


def test_the_menu_leads_to_every_section(browser: Any) -> None:
    tabs = "nav.md-tabs a.md-tabs__link"
    titles = [tab.text for tab in browser.find_elements("css selector", tabs)]
    assert {"Commands", "Library", "Reference"} <= set(titles)
    for number, title in enumerate(titles):
        browser.find_elements("css selector", tabs)[number].click()
        until(lambda: browser.find_element("css selector", "article h1").text)
        active = browser.find_element("css selector", "li.md-tabs__item--active")
        assert active.text == title


def test_a_page_is_found_by_a_word(browser: Any) -> None:
    browser.find_element("css selector", "input.md-search__input").send_keys("clearing and copying calloc")
    results = "li.md-search-result__item a"
    first = until(lambda: browser.find_elements("css selector", results))[0]
    until(lambda: "verdict" in first.get_attribute("href"))
    browser.get(first.get_attribute("href"))
    assert "calloc" in browser.find_element("css selector", "article").text


@pytest.mark.parametrize("verb", COMMANDS)
def test_each_verb_has_its_reference(browser: Any, address: str, verb: str) -> None:
    browser.get(f"{address}docs/reference/commands/{verb}/")
    text = browser.find_element("css selector", "article").text
    assert text.startswith(f"reap {verb}")
    assert "--help" in text


def test_the_library_s_reference_has_its_members(browser: Any, address: str) -> None:
    browser.get(f"{address}docs/reference/library/layer/region.h/")
    text = browser.find_element("css selector", "article").text
    assert "try_allocate" in text
    assert "How a region takes chunks from its source." in text
    assert "give_back" not in text, "private"
