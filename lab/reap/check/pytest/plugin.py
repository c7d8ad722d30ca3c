"""The pytest plugin: `@pytest.mark.reap(max_peak="10 MB")` fails a test that allocates more.

A marked test runs in a process of its own, under `reap record --depth full`, since a recorder has to be there
when a process starts. pytest loads this in every run: it imports nothing of Reap until a marked test runs.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest

REPORTS = "REAP_PYTEST_REPORTS"
"""In the recorded process: the file for its reports."""
WINDOW = "REAP_PYTEST_WINDOW"
"""In the recorded process: the number of the window that the test is."""


def pytest_configure(config: pytest.Config) -> None:
    """The marker, and in a recorded process what it does there."""
    config.addinivalue_line(
        "markers",
        "reap(max_peak, max_bytes, max_allocations, max_live, runs): run the test in a recorded process and "
        "fail it if it allocates more; sizes as '10 MB'",
    )
    if reports := os.environ.get(REPORTS):
        config.pluginmanager.register(
            _Recorded(config, Path(reports), int(os.environ[WINDOW])), "reap-recorded"
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> object:
    """Runs a marked test in a recorded process, and tells its reports as its own."""
    mark = item.get_closest_marker("reap")
    if mark is None or REPORTS in os.environ:
        return None
    from reap.check.pytest.child import reports

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in reports(item, mark):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


class _Recorded:
    """The recorded process: bounds around the call of the test, and reports in a file."""

    def __init__(self, config: pytest.Config, file: Path, number: int) -> None:
        from reap.check.pytest.window import bound, bounds

        self._config, self._file = config, file
        self._bound, (self._first, self._last) = bound(), bounds(number)

    @pytest.hookimpl(wrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Generator[None, object, object]:
        """Cycles from before are not the test's; its own count as live until they are collected."""
        import gc

        gc.collect()
        self._bound(self._first)
        try:
            return (yield)
        finally:
            gc.collect()
            self._bound(self._last)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A line of JSON for each."""
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        with self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(data) + "\n")
