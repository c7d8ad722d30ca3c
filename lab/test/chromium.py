"""A headless Chromium, driven by Selenium, which records what it prints and what it asks the network for."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

needed = pytest.mark.skipif(
    not (shutil.which("chromium") and shutil.which("chromedriver")),
    reason="needs Debian's chromium and chromium-driver",
)

SWITCHES = (
    "--headless",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-sync",
    "--disable-component-update",
    "--disable-default-apps",
    "--hide-scrollbars",
    "--window-size=1200,900",
)


def started(profile: Path) -> Any:
    """A Selenium driver; whoever starts it calls quit()."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for switch in (*SWITCHES, f"--user-data-dir={profile}"):
        options.add_argument(switch)
    if os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium refuses to run as root with its sandbox
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))


ITS_OWN = ("chrome://", "chrome-untrusted://")
"""Pages that are parts of the browser."""


@contextmanager
def quiet(driver: Any, folder: Path) -> Iterator[None]:
    """Meanwhile the reports of `folder` that are opened log no error and load nothing from elsewhere."""
    for kind in ("browser", "performance"):
        driver.get_log(kind)
    yield
    assert driver.execute_script("return reapReport.errors") == []
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    requests = [m["params"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    # The browser's own first page asks for parts of the browser; that is none of ours.
    asked = [r["request"]["url"] for r in requests if not r["documentURL"].startswith(ITS_OWN)]
    assert asked
    assert [url for url in asked if not url.startswith((folder.as_uri(), "data:", "blob:"))] == []
