"""The examples of docs/check.md: each test of GoogleTest and of Catch2 is a marked request."""

import json
from importlib.resources import files
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import reap

PATTERNS = Path(__file__).resolve().parents[3] / "docs" / "patterns"
INCLUDE = f"-I{files('reap') / 'include'}"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "libraries", "test"),
    [("googletest", ["-lgtest", "-pthread"], "AreMany"), ("catch2", [], "numbers are many")],
)
def test_each_test_has_a_limit(tmp_path, name, libraries, test):
    source = PATTERNS / f"test_{name}.cpp"
    tests = compiled(name, ["g++", "-std=c++17", "-g", INCLUDE, source, "-o", OUT, *libraries])
    words = ("check", "--max-allocs-per-mark", "500", "--max-live-at-exit", "0", "--json", "c.json")
    done = reap(*words, "--", tests, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert f"1 0{'13' if name == 'googletest' else '23'} in {test} (phase)" in done.stderr
    held = json.loads((tmp_path / "c.json").read_text())["answers"][0]["check"]
    assert {each["limit"]["figure"]: each["verdict"] for each in held["judged"]} == {
        "allocs-per-mark": "exceeded",
        "live-at-exit": "kept",
    }
