"""The stages of a test suite: what runs beside what, what is counted; a failure holds nothing back."""

import contextlib
import json
import runpy
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDER = ROOT / "setup" / "stages"


@pytest.fixture(scope="module")
def command():
    """What the files of setup/stages define, by name."""
    before = {*sys.modules}
    sys.path.insert(0, str(FOLDER))
    try:
        defined = runpy.run_path(str(FOLDER / "__main__.py"), run_name="stages")
    finally:
        sys.path.remove(str(FOLDER))
    parts = {
        name: sys.modules.pop(name)
        for name in {*sys.modules} - before
        if name in {path.stem for path in FOLDER.glob("*.py")}
    }
    return SimpleNamespace(**defined, parts=parts)


@pytest.fixture
def run(command, tmp_path, monkeypatch, capfd):
    """Runs stages made of (name, commands, options); what became of each by name, and what was printed."""
    monkeypatch.setitem(command.run.__globals__, "ROOT", tmp_path)

    def all_of(*stages, cores=2):
        done = command.run(
            [command.Stage(*one[:2], **(one[2] if one[2:] else {})) for one in stages],
            cores,
            tmp_path / "logs",
        )
        return {each.name: each for each in done}, capfd.readouterr().out

    return all_of


def test_a_failure_is_shown_and_holds_nothing_back(run, tmp_path):
    done, printed = run(
        ("good", "true"), ("bad", "echo because\nfalse\ntrue"), ("late", "true", {"after": ("bad",)})
    )
    assert {name: each.passed for name, each in done.items()} == {"good": True, "bad": False, "late": True}
    assert "bad failed (exit status 1); the end of logs/bad.log" in printed
    assert "because" in printed
    kept = [json.loads(line) for line in (tmp_path / "logs" / "stages.jsonl").read_text().splitlines()]
    assert {each["name"] for each in kept} == {"good", "bad", "late"}


def test_each_runs_all_commands_and_fails_for_any(run, command, tmp_path):
    each = command.parts["table"].each
    done, _ = run(("lint", each("false", f"touch {tmp_path}/reached")), ("fine", each("true", "true")))
    assert not done["lint"].passed
    assert (tmp_path / "reached").exists()
    assert done["fine"].passed


def test_a_stage_that_hangs_is_killed_with_all_it_started(run, tmp_path):
    done, printed = run(("hang", f"sleep 60 & echo $! > {tmp_path}/child\nwait", {"limit": 0.3}))
    assert done["hang"].wall < 50
    assert "killed after 0.3 s" in printed
    state = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    deadline = time.monotonic() + 60
    with contextlib.suppress(OSError):  # it is gone
        while state.read_text().split()[2] != "Z":
            assert time.monotonic() < deadline, "it lives on"
            time.sleep(0.01)


def test_a_stage_of_which_a_program_ran_no_case_has_failed(run):
    done, printed = run(("empty", "echo '<testsuites></testsuites>' > $REPORTS/units.xml"))
    assert not done["empty"].passed
    assert "no case was run by units" in printed


def test_cpu_time_is_that_of_all_processes(run):
    spin = f"{sys.executable} -c 'import time\nwhile time.process_time() < 0.3: pass'\n"
    done, _ = run(("spin", spin * 2))
    assert 0.6 <= done["spin"].cpu < 5


def test_stages_run_side_by_side_and_are_told_their_cores(run, tmp_path):
    """Each waits for the other to have begun: one after the other they would wait for ever."""
    meet = f"echo $JOBS > {tmp_path}/%s\nwhile [ ! -e {tmp_path}/%s ]; do sleep 0.01; done"
    done, _ = run(("a", meet % ("a", "b"), {"limit": 20}), ("b", meet % ("b", "a"), {"limit": 20}))
    assert all(each.passed for each in done.values())
    assert [(tmp_path / name).read_text() for name in "ab"] == ["1\n", "1\n"]


@pytest.fixture
def order(command):
    """Which stages start at once of some that wait and run, with their cores."""
    stage, cores = command.parts["stage"].Stage, command.parts["stage"].Cores
    startable = command.parts["schedule"].startable

    def started(*waiting, running=(), free=2):
        waiting = [stage(name, "", cores=cores(kind), after=tuple(after)) for name, kind, *after in waiting]
        running = [(stage(name, "", cores=cores(kind)), given) for name, kind, given in running]
        begun = []
        while found := startable(waiting, running, free):
            waiting.remove(found[0])
            running.append(found)
            begun.append((found[0].name, found[1]))
        return begun

    return started


def test_a_stage_gets_the_cores_that_no_other_could_use(order):
    assert order(("a", "several")) == [("a", 2)]
    assert order(("a", "one")) == [("a", 1)]
    assert order(("a", "several"), ("b", "several"), ("c", "one")) == [("a", 1), ("b", 1)]
    assert order(("a", "several"), ("b", "one"), free=8) == [("a", 7), ("b", 1)]
    assert order(("a", "several"), ("b", "several", "a")) == [("a", 2)]
    assert order(("b", "several"), running=[("a", "several", 2)]) == []


def test_what_is_waited_for_counts_only_where_it_is_part_of_the_run(order):
    assert order(("b", "one", "a"), running=[("a", "one", 1)]) == []
    assert order(("b", "one", "a")) == [("b", 1)]


def test_a_stage_that_times_programs_runs_alone(order):
    assert order(("timed", "alone"), ("b", "one")) == [("b", 1)]
    assert order(("timed", "alone"), running=[("b", "one", 1)]) == []
    assert order(("timed", "alone")) == [("timed", 2)]
    assert order(("b", "one"), running=[("timed", "alone", 2)]) == []


def test_one_stage_that_sleeps_runs_beside_the_others(order):
    assert order(("a", "one"), ("b", "one"), ("asleep", "none")) == [("asleep", 0), ("a", 1), ("b", 1)]
    assert order(("asleep", "none"), running=[("a", "several", 2)]) == [("asleep", 0)]
    assert order(("asleep", "none"), running=[("other", "none", 0)]) == []
    assert order(("asleep", "none"), running=[("timed", "alone", 2)]) == []
    assert order(("timed", "alone"), running=[("asleep", "none", 0)]) == []
    assert order(("a", "several"), running=[("asleep", "none", 0)]) == [("a", 2)]


LOG = """
[1/3] Building CXX object a.dir/x.cpp.o
[2/3] Building C object a.dir/y.c.o
[3/3] Linking CXX executable a
1/3 Test #1: a ....   Passed    0.01 sec
2/3 Test #2: b ....***Skipped   0.01 sec
3/3 Test #3: c ....   Passed    0.01 sec
100% tests passed, 0 tests failed out of 3
12 passed, 3 skipped, 40 deselected in 3.21s
2 failed, 5 passed, 4 rerun in 71.00s (0:01:11)
"""
REPORT = """<testsuites tests="3"><testsuite name="R" tests="3">
<testcase name="A" status="run" result="completed"/><testcase name="B" status="run" result="skipped"/>
<testcase name="C" status="notrun" result="suppressed"/></testsuite></testsuites>"""


def test_what_is_counted(command, tmp_path):
    log, reports, cache = tmp_path / "x.log", tmp_path / "x.reports", tmp_path / "x.ccache"
    log.write_text(LOG)
    cache.write_text("# a.cpp\ndirect_cache_hit\n# b.cpp\ncache_miss\npreprocessed_cache_hit\n")
    counts = command.parts["account"].count(log, reports, cache)
    assert (counts.compiled, counts.cached) == (3, 2), "the cache saw one that the log hides"
    assert (counts.tests, counts.skipped) == (2 + 12 + 7, 1 + 3)
    assert counts.again == 4
    reports.mkdir()
    (reports / "a.xml").write_text(REPORT)
    counts = command.parts["account"].count(log, reports, cache)
    assert (counts.tests, counts.skipped) == (2 + 12 + 7, 1 + 3 + 1), "a program counts by its cases"
    (reports / "b.xml").write_text('<testsuites tests="0"></testsuites>')
    assert command.parts["account"].count(log, reports, cache).empty == ("b",)
    nothing = command.parts["account"].count(tmp_path / "no", tmp_path / "no", tmp_path / "no")
    assert nothing == command.parts["stage"].Counts()


def test_the_suites_name_each_stage_once_and_wait_for_known_ones(command):
    for suite in command.parts["table"].SUITES.values():
        names = [stage.name for stage in suite]
        assert len({*names}) == len(names)
    known = {stage.name for stage in command.parts["table"].SUITES["ci"]}
    for suite in command.parts["table"].SUITES.values():
        assert {name for stage in suite for name in stage.after} <= known


def test_what_the_stages_run_is_bash(command):
    for stage in [stage for suite in command.parts["table"].SUITES.values() for stage in suite]:
        read = subprocess.run(
            ["bash", "-n"], input=stage.commands, capture_output=True, text=True, check=False
        )
        assert read.returncode == 0, (stage.name, read.stderr)


def test_an_unknown_stage_is_refused_with_those_there_are(command, capsys):
    with pytest.raises(SystemExit) as refused:
        command.chosen(["test", "lint", "lunch"])
    assert refused.value.code == 2
    assert "no stage lunch in test; it has install, " in capsys.readouterr().err
