"""A test in a process of its own, recorded: what pytest is called with, and what its reports become."""

import json
import os
import secrets
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

import pytest

from reap.base import units
from reap.base.errors import ReapError
from reap.base.text import printable, signal_name
from reap.check.judge import limit
from reap.check.pytest.plugin import REPORTS, WINDOW
from reap.check.pytest.window import measured
from reap.launch import program as programs
from reap.launch.records import Launch, Outcome
from reap.recording.record import LostError, record

_LIMITS = {"max_peak": "peak", "max_bytes": "bytes", "max_allocations": "allocations", "max_live": "live"}
_SIZES = ("peak", "bytes", "live")
_PYTEST = (sys.executable, "-P", "-m", "pytest")
"""-P keeps the current folder out of the module path, which is that of this process."""
_OUTPUT = 4000
"""Characters of a process's output that are shown where it has made no report."""


def reports(item: pytest.Item, mark: pytest.Mark) -> list[pytest.TestReport]:
    """Of the first run that keeps the limits, fails by itself or is skipped; else of the last one, failed."""
    try:
        limits, runs = _limits_of(mark)
        over: list[dict[str, float]] = []
        while True:
            found, figures = _run(item)
            call = next((each for each in found if each.when == "call"), None)
            if call is None or not call.passed:
                return found
            if isinstance(figures, list):
                return [_unmeasured(item, figures), *(each for each in found if each.when == "teardown")]
            over.append(figures)
            exceeded = {
                figure: min(run[figure] for run in over)
                for figure, most in limits.items()
                if all(run[figure] > most for run in over)
            }
            for report in found:  # a JUnit file takes those of the last one
                report.user_properties += [(f"reap_{figure}", value) for figure, value in figures.items()]
            if not exceeded:
                return found
            if len(over) >= runs:
                call.outcome = "failed"
                call.longrepr = _said(item, exceeded, limits, len(over))
                return found
    except LostError as error:
        return [_unmeasured(item, [str(error)])]
    except ReapError as error:
        return [_failed(item, str(error))]


def _limits_of(mark: pytest.Mark) -> tuple[dict[str, float], int]:
    """By figure what a test may allocate, and how many runs may decide. Throws ReapError, with a hint."""
    given: dict[str, Any] = dict(mark.kwargs)
    runs = given.pop("runs", 1)
    unknown = given.keys() - _LIMITS.keys()
    if mark.args or unknown or not given or not isinstance(runs, int) or runs < 1:
        raise ReapError(
            f"the mark reap{mark.args or tuple(sorted(unknown))} is not understood",
            f"it takes {', '.join(_LIMITS)} and runs=N, at least one limit, all by name",
        )
    named = {"live": "live-at-exit"}
    figures = [(_LIMITS[name], str(text)) for name, text in given.items()]
    return {figure: limit(named.get(figure, figure), text).most for figure, text in figures}, runs


def _run(item: pytest.Item) -> tuple[list[pytest.TestReport], dict[str, float] | list[str]]:
    with tempfile.TemporaryDirectory(prefix="reap-pytest-") as name:
        folder = Path(name)
        number = secrets.randbits(32)
        words = [*_PYTEST, *_arguments(item, folder)]
        path = os.pathsep.join(each for each in sys.path if each)
        launch = Launch(
            argv=words,
            program=programs.resolve(words).path,
            environment={REPORTS: str(folder / "reports"), WINDOW: str(number), "PYTHONPATH": path},
            keep=str(folder / "output"),
        )
        outcome = record(launch, folder / "test.reap", "full")
        found = _read(item, folder / "reports")
        if not any(each.when == "teardown" for each in found):
            return [*found, _failed(item, _ended(outcome, folder / "output"))], []
        passed = any(each.when == "call" and each.passed for each in found)
        return found, measured(folder / "test.reap", number) if passed else []


def _arguments(item: pytest.Item, folder: Path) -> list[str]:
    """This run's own options, one test in place of its files, and nothing of this run's overwritten."""
    config = item.config
    given = [str(each) for each in config.invocation_params.args]
    options = [each for each in given if each not in config.args]
    path, _, rest = item.nodeid.partition("::")
    extra = ["--rootdir", str(config.rootpath), "-o", f"cache_dir={folder / 'cache'}"]
    if config.inipath:
        extra += ["-c", str(config.inipath)]
    if getattr(config.option, "xmlpath", None):
        extra += ["--junit-xml", str(folder / "junit.xml")]
    if config.pluginmanager.has_plugin("xdist"):
        extra += ["-n", "0"]
    return [*options, *extra, f"{config.rootpath / path}::{rest}"]


def _read(item: pytest.Item, file: Path) -> list[pytest.TestReport]:
    if not file.exists():
        return []
    found = []
    for line in file.read_text(encoding="utf-8").splitlines():
        report = item.config.hook.pytest_report_from_serializable(config=item.config, data=json.loads(line))
        if isinstance(report.longrepr, list):  # a skip's place and reason, a tuple before it was JSON
            report.longrepr = tuple(report.longrepr)
        found.append(report)
    return found


def _ended(outcome: Outcome, output: Path) -> str:
    how = f"ended by {signal_name(outcome.signal)}" if outcome.signal else f"exited with {outcome.exit_code}"
    said = output.read_text(errors="replace")[-_OUTPUT:] if output.exists() else ""
    return f"the recorded process of the test {how} before its report\n{said}"


def _said(item: pytest.Item, exceeded: dict[str, float], limits: dict[str, float], runs: int) -> str:
    lines = [
        f"reap: {figure} {_least(_amount(figure, value), runs)}, limit {_amount(figure, limits[figure])}"
        for figure, value in exceeded.items()
    ]
    again = shlex.join(
        ["reap", "record", "-d", "full", "-o", "test.reap", "--", "python", "-m", "pytest", item.nodeid]
    )
    return "\n".join([*lines, f"to see where: {printable(again)}"])


def _least(amount: str, runs: int) -> str:
    return f"at least {amount} in each of {units.many(runs, 'run')}" if runs > 1 else amount


def _amount(figure: str, value: float) -> str:
    return units.size(value) if figure in _SIZES else units.whole(value)


def _unmeasured(item: pytest.Item, reasons: list[str]) -> pytest.TestReport:
    """Of its setup: pytest counts it as an error and not as a failure."""
    said = "\n".join(["reap: not measured, so no limit counts as kept:", *reasons])
    return _failed(item, said, when="setup")


def _failed(item: pytest.Item, text: str, when: Literal["setup", "call"] = "call") -> pytest.TestReport:
    return pytest.TestReport(
        nodeid=item.nodeid,
        location=item.location,
        keywords=dict.fromkeys(item.keywords, 1),
        outcome="failed",
        longrepr=text,
        when=when,
    )
