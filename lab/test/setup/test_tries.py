"""A test that fails is tried again after all others: once, or twice where its outcome depends on chance."""

import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).resolve().parents[1] / "conftest.py"
TESTS = """
import pytest

tries = {}


def fails(name, times):
    print(f"try {name}")
    tries[name] = tries.get(name, 0) + 1
    assert tries[name] > times


@pytest.fixture
def late():
    fails("fixture", 1)


@pytest.mark.timed
def test_once():
    fails("once", 1)


@pytest.mark.verdict
def test_setup(late):
    pass


@pytest.mark.verdict
def test_always():
    fails("always", 9)


def test_other():
    fails("other", 1)


def test_never():
    fails("never", 9)


def test_fine():
    fails("fine", 0)
"""
MARKERS = "[pytest]\nmarkers =\n    timed: by chance\n    verdict: by chance\n"


def test_what_failed_is_tried_again_after_all_others(tmp_path):
    (tmp_path / "test_chance.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(MARKERS)
    (tmp_path / "conftest.py").write_text(CONFTEST.read_text())
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    tried = [line.rpartition("try ")[2] for line in done.stdout.splitlines() if "try " in line]
    tried = [name for name in tried if name.isalpha()]
    first = ["once", "fixture", "always", "other", "never", "fine"]
    assert tried == [*first, "once", "fixture", "always", "other", "never", "always"]
    assert done.returncode == 1
    assert "2 failed, 4 passed, 6 rerun" in done.stdout
