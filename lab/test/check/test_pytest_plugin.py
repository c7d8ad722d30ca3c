"""`@pytest.mark.reap(...)`, as a user's tests have it."""

import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # each marked test starts pytest

TESTS = '''
import ctypes
import os

import pytest

kept = []
before = bytearray(50_000_000)


@pytest.fixture
def large():
    return bytearray(30_000_000)


@pytest.mark.reap(max_peak="1.1 MB", max_bytes="2.2 MB", max_allocations=2000, max_live="100 kB")
def test_within(large):
    """What the module and the fixture have allocated is not the test's."""
    for _ in range(2):
        bytearray(1_000_000)
    assert len(large) == 30_000_000


@pytest.mark.reap(max_peak="900 kB")
def test_peak():
    bytearray(1_000_000)


@pytest.mark.reap(max_bytes="1.5 MB", max_peak="1.1 MB")
def test_bytes():
    for _ in range(2):
        bytearray(1_000_000)


@pytest.mark.reap(max_allocations=4000)
def test_allocations():
    objects = [bytearray(1000) for _ in range(5000)]


@pytest.mark.reap(max_live="500 kB")
def test_live():
    kept.append(bytearray(1_000_000))


@pytest.mark.reap(max_live="100 kB")
def test_cycle():
    """A cycle is collected: it does not leak."""
    cycle = [bytearray(1_000_000)]
    cycle.append(cycle)


@pytest.mark.reap(max_peak="1 GB")
def test_fails():
    print("what it printed")
    assert 1 == 2, "its own reason"


@pytest.mark.reap(max_peak="1 GB")
def test_skips():
    pytest.skip("not here")


@pytest.mark.reap(max_peak="1 GB")
def test_crashes():
    os.abort()


@pytest.mark.reap(peak="1 GB")
def test_unknown():
    pass


@pytest.mark.reap(max_peak="1 QB")
def test_unit():
    pass


@pytest.mark.reap(max_peak="600 kB", runs=3)
def test_varies(tmp_path_factory):
    marker = tmp_path_factory.getbasetemp().parent / "RAN"
    if marker.exists():
        return
    marker.touch()
    bytearray(1_000_000)


@pytest.mark.reap(max_peak="1 GB")
@pytest.mark.parametrize("word", ["a b", "[x]::y"])
def test_parameters(word):
    assert "libreap-record" in os.environ["LD_PRELOAD"]


class TestGroup:
    @pytest.mark.reap(max_peak="1 GB")
    def test_in_a_class(self):
        pass


def test_unmarked():
    assert "libreap-record" not in os.environ.get("LD_PRELOAD", "")
'''
PASSED = {
    "test_within", "test_cycle", "test_varies", "test_parameters[a b]", "test_parameters[[x]::y]",
    "test_in_a_class", "test_unmarked",
}  # fmt: skip


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "reap.check.pytest.plugin"}
"""Without the other plugins, which take most of the start of each pytest."""


def ran(folder: Path, *words: str, **environment: str) -> tuple[str, dict[str, ET.Element]]:
    """What pytest prints, and each test of its JUnit file."""
    command = [sys.executable, "-m", "pytest", "test_it.py", "-p", "no:randomly", "--junitxml=j.xml", *words]
    environment = {**os.environ, **environment}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    cases = ET.parse(folder / "j.xml").getroot().iter("testcase")  # noqa: S314 - pytest's own
    return done.stdout, {case.get("name"): case for case in cases}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> tuple[str, dict[str, ET.Element]]:
    folder = tmp_path_factory.mktemp("marked")
    (folder / "test_it.py").write_text(TESTS)
    (folder / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    return ran(folder, **ALONE)


def failure(case: ET.Element) -> str:
    found = case.find("failure")
    return "" if found is None else found.get("message", "") + (found.text or "")


def test_only_what_is_over_its_limits_fails(results):
    out, cases = results
    assert {name for name, case in cases.items() if not list(case.iter("failure"))} >= PASSED, out
    assert {name for name, case in cases.items() if case.find("failure") is None} == {*PASSED, "test_skips"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("test_peak", "reap: peak 97"),
        ("test_bytes", "reap: bytes 1.9"),
        ("test_allocations", "reap: allocations 5 0"),
        ("test_live", "reap: live 97"),
        ("test_fails", "its own reason"),
        ("test_crashes", "ended by SIGABRT before its report"),
        ("test_unknown", "is not understood"),
        ("test_unit", "1 QB, is not understood"),
    ],
)
def test_a_failure_says_why(results, name, said):
    out, cases = results
    assert said in failure(cases[name]), out


def test_reports_are_those_of_the_recorded_process(results):
    out, cases = results
    assert "what it printed" in out
    assert cases["test_skips"].find("skipped").get("message") == "not here"
    assert "reap record -d full" in failure(cases["test_peak"])
    figures = {each.get("name"): float(each.get("value")) for each in cases["test_within"].iter("property")}
    assert 1_000_000 < figures["reap_peak"] < 1_100_000
    assert 2_000_000 < figures["reap_bytes"] < 2_200_000


def test_it_works_beside_xdist_and_options(tmp_path):
    (tmp_path / "test_it.py").write_text(TESTS)
    out, cases = ran(tmp_path, "-n", "2", "-k", "test_within or test_peak", "--lf", "-x")
    assert set(cases) == {"test_within", "test_peak"}, out
    assert "reap: peak 97" in failure(cases["test_peak"]), out


NOT_MEASURED = """
import os

import pytest


@pytest.mark.reap(max_peak="1 GB")
@pytest.mark.parametrize("size", [0, 4096])
def test_truncates(size):
    os.truncate(os.environ["REAP_TRACE"], size)
"""


def test_what_is_not_measured_is_an_error(tmp_path):
    """Whether its recording cannot be read at all, or lacks the call."""
    (tmp_path / "test_it.py").write_text(NOT_MEASURED)
    out, cases = ran(tmp_path)
    assert set(cases) == {"test_truncates[0]", "test_truncates[4096]"}, out
    for case in cases.values():
        (error,) = case.iter("error")
        assert "not measured, so no limit counts as kept" in error.text, out
        assert not list(case.iter("failure"))
