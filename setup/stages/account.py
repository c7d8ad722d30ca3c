"""What a stage did: read from its log, the reports of its test runners and the log of the compiler cache."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

from stage import Counts

_COMPILED = re.compile(r"^\[\d+/\d+\] Building C(?:XX)? object (\S+)", re.MULTILINE)
_PYTEST = re.compile(r"^=*\s*((?:\d+ \w+(?:, )?)+) in [\d.]+s", re.MULTILINE)
_CTEST = re.compile(r"^\d+% tests passed, \d+ tests? failed out of (\d+)", re.MULTILINE)
_CTEST_SKIPPED = re.compile(r"\*\*\*Skipped")


def count(log: Path, reports: Path, cache_log: Path) -> Counts:
    """Counts of a stage.

    `reports` is the folder of GoogleTest's XML reports; a program that left one counts by its cases, and not
    as the one test that ctest sees. A file that is missing counts nothing.
    """
    text = log.read_text(errors="replace") if log.exists() else ""
    tests, skipped, again = _of_pytest(text)
    programs = [int(n) for n in _CTEST.findall(text)]
    results = {path.stem: _of_report(path) for path in sorted(reports.glob("*.xml"))}
    reported = list(results.values())
    by_ctest = sum(programs) - len(_CTEST_SKIPPED.findall(text)) - len(reported)
    hits, misses = _of_cache(cache_log)
    return Counts(
        # A log may hide what a build prints; the cache, where there is one, sees every compilation.
        compiled=max(len(_COMPILED.findall(text)), hits + misses),
        cached=hits,
        tests=tests + max(0, by_ctest) + sum(run for run, _ in reported),
        empty=tuple(name for name, cases in results.items() if sum(cases) == 0),
        again=again,
        skipped=skipped + len(_CTEST_SKIPPED.findall(text)) + sum(skips for _, skips in reported),
    )


def _of_pytest(text: str) -> tuple[int, int, int]:
    """Tests run, skipped and tried again, of all closing lines of pytest: `5 passed, 2 skipped in 3.1s`."""
    run = skipped = again = 0
    for line in _PYTEST.findall(text):
        outcomes = {word: int(number) for number, word in re.findall(r"(\d+) (\w+)", line)}
        run += outcomes.get("passed", 0) + outcomes.get("failed", 0)
        skipped += outcomes.get("skipped", 0)
        again += outcomes.get("rerun", 0)
    return run, skipped, again


def _of_report(path: Path) -> tuple[int, int]:
    """Cases run and skipped, of one report of GoogleTest."""
    cases = ET.parse(path).getroot().iter("testcase")  # noqa: S314  the report of our own test program
    results = [case.get("result") for case in cases if case.get("status") == "run"]
    skipped = results.count("skipped")
    return len(results) - skipped, skipped


def _of_cache(cache_log: Path) -> tuple[int, int]:
    """Compilations that the cache answered, and those that it did not, of ccache's stats log."""
    results = cache_log.read_text().splitlines() if cache_log.exists() else []
    hits = results.count("direct_cache_hit") + results.count("preprocessed_cache_hit")
    return hits, results.count("cache_miss")
