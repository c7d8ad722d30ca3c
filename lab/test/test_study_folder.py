"""A study's folder is begun once and goes on, whenever it was killed; a quick study does less."""

import os
import signal
import subprocess
import sys
import time

import pytest

from reap.allocators.records import Allocator
from reap.errors import ReapError
from reap.experiment import card
from reap.experiment.folder import read_runs
from reap.experiment.runner import Listener
from reap.study import ismm2026, measuring, oopsla2002
from reap.study.folder import begin, resumed


@pytest.mark.parametrize("study", [ismm2026, oopsla2002])
def test_a_study_is_begun_once(study, tmp_path):
    plan = study.plan("quick", ["gawk"], ["glibc"])
    place = tmp_path / "study"
    begin(place, plan)
    assert resumed(place, study.NAME) == plan
    with pytest.raises(ReapError, match="exists already") as caught:
        begin(place, plan)
    assert f"reap study {study.NAME} --resume" in caught.value.hint
    with pytest.raises(ReapError, match="is no folder of a study"):
        resumed(tmp_path, study.NAME)
    with pytest.raises(ReapError, match=f"is of the study {study.NAME}, and not of other") as caught:
        resumed(place, "other")
    assert caught.value.hint == f"reap study {study.NAME} --resume {place}"
    with pytest.raises(ReapError, match="mystery is no workload of this study"):
        study.plan("quick", ["mystery"], ["glibc"])


def test_without_names_a_study_is_of_all_that_it_knows():
    assert ismm2026.plan("full", [], ["glibc"]).workloads == list(ismm2026.WORKLOADS)
    assert oopsla2002.plan("full", [], ["glibc"]).workloads == list(oopsla2002.WORKLOADS)


def test_a_quick_study_does_less():
    described = card.load("chart-parser")
    full, quick = (measuring.scale_of(described, mode) for mode in ("full", "quick"))
    assert full == described.default_scale
    assert described.quick_scale <= measuring.scale_of(described, "quick", 5) < quick < full
    assert measuring.scale_of(card.load("clang"), "quick") == 1


def test_five_rounds_of_a_quick_study_fit_into_the_share_of_a_workload():
    share = measuring.QUICK_SECONDS / len(ismm2026.WORKLOADS)
    for name in ismm2026.WORKLOADS:
        described = card.load(name)
        scale = measuring.scale_of(described, "quick")
        if scale == described.quick_scale:  # there is no less of it
            continue
        work = scale / described.default_scale
        arms = len(described.variants) * len(ismm2026.ALLOCATORS) * 2
        runs = arms + (arms + 1) * 5  # a warm-up of each, and the baseline twice in a round
        assert runs * work * described.expected_seconds < share, name


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("rapidjson", "rapidjson-dev"),
        ("protobuf", "libprotobuf-dev"),
        ("boost-json", "libboost1.81-dev"),
        ("gawk", "gawk"),
        ("sqlite-lookaside", "sqlite3"),
        ("tshark", "tshark"),
        ("clang", "clang-19"),
        ("subversion", "subversion"),
    ],
)
def test_a_workload_s_version_is_not_its_compiler_s(name, package):
    assert measuring.package_of(card.load(name)) == package


def test_what_a_kill_left_half_made_is_made_again(tmp_path):
    place = tmp_path / "freelist"
    place.mkdir()
    (place / "runs.jsonl").touch()
    described = card.load("freelist")
    made = []

    def make():
        made.append(place.exists())
        raise ReapError("far enough", "")

    done = measuring.measure(place, described, 1, make, Listener())
    assert (made, done.excluded) == ([False], "far enough")


_STUDY = """
import sys
from pathlib import Path
from reap.allocators.records import Allocator
from reap.experiment.runner import Listener
from reap.study import ismm2026, measuring
measuring.QUICK_SECONDS, measuring.QUICK_RUN = 600.0, 0.02
place = Path(sys.argv[1])
plan = ismm2026.plan("quick", ["expression-compiler"], ["glibc"])
ismm2026.run(place, plan, [Allocator(name="glibc")], Listener())
"""


@pytest.mark.slow
def test_a_killed_study_goes_on_and_keeps_its_runs(tmp_path, monkeypatch):
    place = tmp_path / "study"
    begin(place, ismm2026.plan("quick", ["expression-compiler"], ["glibc"]))
    log = place / "expression-compiler" / "runs.jsonl"
    process = subprocess.Popen([sys.executable, "-c", _STUDY, str(place)], start_new_session=True)
    deadline = time.monotonic() + 300
    while not log.exists() or len(log.read_bytes().splitlines()) < 6:
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before, _ = read_runs(log)
    assert len(before) >= 5
    monkeypatch.setattr(measuring, "QUICK_RUN", 0.02)
    plan = resumed(place, ismm2026.NAME)
    (one,) = ismm2026.run(place, plan, [Allocator(name="glibc")], Listener()).measured
    assert one.excluded == ""
    assert one.result is not None
    after, _ = read_runs(log)
    assert after[: len(before)] == before
    assert len(after) > len(before)
