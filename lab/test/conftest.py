"""Set-up of all tests, and the number of tries of one that fails.

A test whose outcome depends on time or chance is tried three times, any other one twice, as nobody knows of
every test what a stalled machine does to it. Where tries are independent, a test that fails by chance once in
a hundred runs fails three times in a row once in a million. But on a busy machine they are not, and a fault
that shows only now and then is hidden: look at each test that the stages count as tried again, and write
tests so that they need no second try. `setup/repeat` tries each once, to see how often chance decides.

A try that failed is repeated after all other tests, when the machine may be less busy. The workers of xdist
cannot do that: there it is repeated a few seconds later.
"""

import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

_TRIES = 2
_TRIES_OF_CHANCE = 3
"""Tries of a test that is marked as one whose outcome depends on time or chance."""
_DELAY = 10
"""Seconds between two tries in a worker of xdist."""
_LEFT = pytest.StashKey[int]()
"""How often a test may still be tried."""

# A shell ignores them for what it runs in the background, nohup one of them; a program inherits that, and a
# shell script cannot trap them.
for _number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("reruns") is not None:
        return
    for item in items:
        if hasattr(config, "workerinput"):
            item.add_marker(pytest.mark.flaky(reruns=_tries(item) - 1, reruns_delay=_DELAY))
        else:
            item.stash[_LEFT] = _tries(item)


def _tries(item: pytest.Item) -> int:
    by_chance = item.get_closest_marker("timed") or item.get_closest_marker("verdict")
    return _TRIES_OF_CHANCE if by_chance else _TRIES


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if _LEFT not in item.stash:
        return None
    item.stash[_LEFT] -= 1
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    again = item.stash[_LEFT] > 0 and any(report.failed for report in reports)
    for report in reports:
        report.rerun = _tries(item) - 1 - item.stash[_LEFT]  # read by pytest-rerunfailures for its summary
        if again and report.failed:
            report.outcome = "rerun"
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    if again:
        item.session.items.append(item)  # pytest's loop reaches it after the others
    return True


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter; each pytest that starts closes those of `tmp_path` again."""
    with tempfile.TemporaryDirectory(prefix="reap-test-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Chromium, with a profile of its own."""
    import chromium  # the tests of the tries above have this file alone

    driver = chromium.started(tmp_path_factory.mktemp("user"))
    yield driver
    driver.quit()
