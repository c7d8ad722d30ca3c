"""`reap doctor` shows what a block and a page fault cost on this machine."""

import json
import os
import re

from programs import reap

from reap.base.errors import ReapError
from reap.doctor import run
from reap.launch import native_files


def checked(cache) -> dict:
    done = reap("doctor", "--json", "-", env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    return {check["name"]: check for check in json.loads(done.stdout)["checks"]}["calibration"]


def test_the_figures_are_shown_and_kept(tmp_path):
    first = checked(tmp_path)
    assert first["state"] == "good"
    assert not first["mend"]
    assert re.search(r"[\d.]+ ns for one hot block, .* a request; a page fault [\d.]+ [nµ]s", first["says"])
    (kept,) = (tmp_path / "reap").iterdir()
    assert str(kept) in first["says"]
    assert checked(tmp_path) == first


def test_figures_that_cannot_be_kept_are_shown_with_what_to_do():
    check = checked("/dev/null")
    assert check["state"] == "poor"
    assert "ns for one hot block" in check["says"]
    assert "was not kept" in check["says"]
    assert "XDG_CACHE_HOME" in check["mend"]


def test_figures_of_another_machine_are_named_so(monkeypatch):
    def missing():
        raise ReapError("a part of reap is missing: reap-calibrate")

    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    monkeypatch.setattr(native_files, "calibrator", missing)
    monkeypatch.setattr(run, "_CHECKS", [each for each in run._CHECKS if each[0] == "calibration"])
    (check,) = run.examine()
    assert check.state == "poor"
    assert "could not be measured" in check.says
    assert "13.0 ns" in check.says
    assert check.mend
