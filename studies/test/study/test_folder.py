"""A study's folder is begun once and goes on, whenever it was killed; a quick study does less."""

import json
import os
import signal
import stat
import subprocess
import sys
import time

import msgspec
import pytest
from programs import reap
from samples import share_of

from reap.allocators import apt
from reap.allocators.records import Allocator
from reap.base.errors import ReapError
from reap.experiment.folder import read_runs
from reap.experiment.runner import InterruptedRunError, Listener
from reap.experiment.specify import AskedFragment
from reap.launch.litter.level import LEVELS
from reap_studies.study import conduct, measuring, pacing
from reap_studies.study.folder import alone, begin, resumed
from reap_studies.study.ismm2026 import run
from reap_studies.study.oopsla2002 import run as oopsla2002
from reap_studies.study.oopsla2002 import statistics
from reap_studies.workloads import card


@pytest.mark.parametrize("study", [run, oopsla2002])
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
    assert run.plan("full", [], ["glibc"]).workloads == list(run.WORKLOADS)
    assert oopsla2002.plan("full", [], ["glibc"]).workloads == list(oopsla2002.WORKLOADS)


def test_a_quick_study_does_less():
    described = card.load("chart-parser")
    full, quick = (measuring.scale_of(described, mode) for mode in ("full", "quick"))
    assert full == round(described.default_scale / described.expected_seconds)  # a second
    assert described.quick_scale <= measuring.scale_of(described, "quick", 0.03) < quick < full
    without_scale = msgspec.structs.replace(described, default_scale=1, quick_scale=1)
    assert measuring.scale_of(without_scale, "quick") == 1


def test_what_a_study_is_of_is_said_once_and_as_a_command():
    twice = run.plan("quick", ["freelist", "gawk", "freelist"], ["glibc"])
    assert twice.workloads == ["freelist", "gawk"]
    assert twice.command == ["reap", "study", "ismm2026", "--quick", "--workloads", "freelist,gawk"]
    assert oopsla2002.plan("full", [], ["glibc"]).command == ["reap", "study", "oopsla2002", "--full"]


def test_workloads_may_be_named_again(tmp_path):
    """The first of them is not lost: it is it that is not known."""
    words = ["--quick", "-w", "no-such,freelist", "-w", "gawk", "-o", str(tmp_path / "study")]
    done = reap("study", "ismm2026", *words)
    assert "no-such is no workload of this study" in done.stderr
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("verb", ["ismm2026", "oopsla2002"])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--quick", "--full"], "a study is begun, quickly or in full, or it is resumed"),
        (["--quick", "--resume", "x"], "a study is begun, quickly or in full, or it is resumed"),
        ([], "a study is begun, quickly or in full, or it is resumed"),
        (["--quick", "--workloads", ","], "--workloads names none"),
        (["--quick", "--workloads", ""], "--workloads names none"),
        (["--resume", "x", "--workloads", ""], "it takes neither --workloads nor --output"),
        (["--quick", "--on", "local:2"], "--on is for full studies"),
        (["--quick", "--rounds", "12"], "--rounds is for full studies"),
        (["--full", "--rounds", "5"], "5 is not in the range 6<=x<=30"),
        (["--full", "--on", "here"], "'here' names no place: give local:N, ssh:HOST,HOST, slurm:N"),
    ],
)
def test_a_command_line_that_can_be_read_in_two_ways_is_none(verb, words, said, tmp_path):
    place = [] if "--resume" in words else ["--output", str(tmp_path / "study")]
    done = reap("study", verb, *words, *place)
    assert (done.returncode, said in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_study_goes_on_to_the_rounds_that_it_was_begun_with(tmp_path):
    """They were in no file: resumed without them it went on to thirty."""

    def stopped(*_):
        raise InterruptedRunError("stopped", "resume it")

    asked = {"quick": False, "full": True, "workloads": "gawk", "resume": None, "added": ()}
    place = tmp_path / "study"
    with pytest.raises(InterruptedRunError):
        conduct.conduct(oopsla2002, **asked, output=place, rounds=6, start=stopped)
    assert resumed(place, "oopsla2002").rounds == 6


def test_a_study_s_folder_is_private(tmp_path, monkeypatch):
    place = tmp_path / "study"
    begin(place, run.plan("quick", ["gawk"], ["glibc"]))
    monkeypatch.setattr(statistics, "_recorded", lambda known: known)
    monkeypatch.setattr(measuring, "lacking", lambda _described: "")
    statistics.take(place / "gawk.statistics.json", card.load("gawk"), 1)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in [place, *place.iterdir()]}
    assert modes == {"study": 0o700, "plan.json": 0o600, "gawk.statistics.json": 0o600}


def test_no_two_go_on_with_one_study(tmp_path):
    place = tmp_path / "study"
    begin(place, run.plan("quick", ["gawk"], ["glibc"]))
    with alone(place):
        done = reap("study", "ismm2026", "--resume", str(place))
        assert (done.returncode, f"another reap goes on with the study in {place}" in done.stderr) == (
            125,
            True,
        )
        assert [path.name for path in place.iterdir()] == ["plan.json"]
    with alone(place):  # it was let go of
        pass


def test_a_package_that_apt_has_not_leaves_out_its_workload_alone(tmp_path, monkeypatch):
    monkeypatch.setattr(measuring.packages, "lacking", list)

    def no_apt(_names):
        raise ReapError("apt cannot install it", "")

    monkeypatch.setattr(apt, "simulated", no_apt)
    words = "tshark is not installed here (reap workloads prepare --yes tshark)"
    plan = run.plan("quick", ["tshark"], ["glibc"])
    (one,) = run.run(tmp_path, plan, [Allocator(name="glibc")], Listener()).measured
    assert one.excluded == words
    assert statistics.take(tmp_path / "s.json", card.load("tshark"), 1).excluded == words


def test_what_was_recorded_of_another_version_or_without_samples_is_recorded_again(tmp_path, monkeypatch):
    taken = []

    def recorded(known):
        taken.append(known)
        return msgspec.structs.replace(known, share=share_of(0.1))

    monkeypatch.setattr(statistics, "_recorded", recorded)
    monkeypatch.setattr(measuring, "lacking", lambda _described: "")
    place, described = tmp_path / "s.json", card.load("gawk")
    for count, scale in ((1, 1), (1, 1), (2, 3)):
        assert statistics.take(place, described, scale).scale == scale
        assert len(taken) == count
    statistics.take(place, msgspec.structs.replace(described, expected_seconds=99), 3)
    assert len(taken) == 3
    monkeypatch.setattr(statistics, "version_of", lambda _described: "another")
    assert statistics.take(place, described, 3).version == "another"
    kept = json.loads(place.read_text())
    place.write_text(json.dumps(kept | {"share": None}))
    assert statistics.take(place, described, 3).share is not None
    assert len(taken) == 5


@pytest.mark.parametrize(
    ("name", "package"),
    [
        ("rapidjson", "rapidjson-dev"),
        ("protobuf", "libprotobuf-dev"),
        ("boost-json", "libboost1.81-dev"),
        ("gawk", "gawk"),
        ("sqlite-lookaside", "sqlite3"),
        ("tshark", "tshark"),
        ("clang", "libclang-19-dev"),
        ("subversion", "subversion"),
    ],
)
def test_a_workload_s_version_is_not_its_compiler_s(name, package):
    assert measuring.package_of(card.load(name)) == package


def test_what_a_kill_left_half_made_is_made_again(tmp_path, monkeypatch):
    place = tmp_path / "freelist"
    place.mkdir()
    (place / "runs.jsonl").touch()
    made = []

    def make(_work, _scale):
        made.append(place.exists())
        raise ReapError("far enough", "")

    monkeypatch.setattr(measuring, "spec", make)
    monkeypatch.setattr(measuring, "lacking", lambda _described: "")
    glibc = [Allocator(name="glibc")]
    work = measuring.Work(place, card.load("freelist"), "quick", glibc, AskedFragment(levels=[], clean=True))
    done = measuring.measure(work, 5, Listener())
    assert (made, done.excluded) == ([False], "far enough")


_STUDY = """
import sys
from pathlib import Path
from reap.allocators.records import Allocator
from reap.experiment.runner import Listener
from reap_studies.study import measuring
from reap_studies.study.ismm2026 import run
measuring.RUN["quick"] = 0.02
place = Path(sys.argv[1])
plan = run.plan("quick", ["expression-compiler"], ["glibc"])
run.run(place, plan, [Allocator(name="glibc")], Listener())
"""


@pytest.mark.slow
def test_a_killed_study_goes_on_and_keeps_its_runs(tmp_path, monkeypatch):
    place = tmp_path / "study"
    begin(place, run.plan("quick", ["expression-compiler"], ["glibc"]))
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
    monkeypatch.setitem(measuring.RUN, "quick", 0.02)
    monkeypatch.setattr(pacing, "QUICK_SECONDS", 0)
    plan = resumed(place, run.NAME)
    (one,) = run.run(place, plan, [Allocator(name="glibc")], Listener()).measured
    assert one.excluded == ""
    assert one.result is not None
    after, _ = read_runs(log)
    assert after[: len(before)] == before
    assert len(after) > len(before)


@pytest.mark.parametrize("study", ["allocator-wall", "allocators", "ismm2026", "oopsla2002"])
def test_every_study_takes_another_allocator(study, tmp_path):
    place = str(tmp_path / "study")
    done = reap("study", study, "--quick", "-o", place, "--allocator", "mine=/nonexistent/libmine.so")
    assert (done.returncode, "libmine.so" in done.stderr) == (2, True), done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("begins", "children"), [('"sh", "-c", "exec perl -e 1"', True), ('"perl", "-e", "1"', False)]
)
def test_what_a_shell_starts_is_littered_too(begins, children, tmp_path, monkeypatch):
    """Of mudlle, which a shell executes, the shell alone was littered: naive allocation seemed to resist."""
    home = tmp_path / "workloads" / "mine"
    home.mkdir(parents=True)
    (home / "card.toml").write_text(
        'name = "mine"\ntitle = "t"\ndescription = "d"\nkind = "region"\nallocator = "a"\nswitch = "s"\n'
        'packages = []\nexpected_seconds = 1.0\norigin = { package = "p", licence = "l" }\n'
        f"[variants.custom]\nargv = [{begins}]\n[variants.naive]\nargv = [{begins}]\n"
    )
    monkeypatch.setattr(card, "folders", lambda: [tmp_path / "workloads"])
    heaps = AskedFragment(levels=[LEVELS["adv0"], LEVELS["adv3"]])
    work = measuring.Work(tmp_path, card.load("mine"), "quick", [Allocator(name="glibc")], heaps)
    made = measuring.spec(work, 1).fragment
    assert made is not None
    assert made.children == children
