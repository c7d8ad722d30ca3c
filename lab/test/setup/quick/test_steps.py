"""The steps of `make quick`: what is started, waited for and killed."""

import contextlib
import subprocess
from pathlib import Path

import pytest
from lab.test.setup.quick.checkout import remembered, write


@pytest.fixture
def steps(tmp_path):
    (tmp_path / "build").mkdir()
    import steps

    return steps


def test_what_would_not_end_in_time_is_not_started_and_what_fits_is(steps, tmp_path):
    remembered(tmp_path, took={"long": [900, 1], "short": [0.1]}, more_than={"long": 5, "stopped": 200})
    runner = steps.Runner(tmp_path, 20, 1)
    each = [steps.Step(name, f"touch {name}", 90) for name in ("long", "new", "stopped", "short")]
    assert not runner.run(each)
    assert not (tmp_path / "long").exists()
    assert (tmp_path / "short").exists()
    assert [(one.step.name, one.verdict, one.seconds) for one in runner.outcomes[1:]] == [
        ("long", "not run", 900),
        ("new", "not run", 90),
        ("stopped", "not run", 200),
    ]
    # That it was stopped may have been the machine's fault: it has its chance again.
    assert steps.Runner(tmp_path, 20, 1).expected(each[2]) == 160


def test_what_others_need_is_started_as_long_as_there_is_time(steps, tmp_path):
    runner = steps.Runner(tmp_path, 20, 1)
    assert runner.run([steps.Step("install", "true", 90, needed=True)])
    assert not steps.Runner(tmp_path, 0, 1).run([steps.Step("install", "true", 90, needed=True)])


def test_what_overruns_is_killed_with_all_it_started_and_remembered_as_longer(steps, tmp_path, monkeypatch):
    monkeypatch.setattr(steps, "GRACE", 0.2)
    runner = steps.Runner(tmp_path, 0.3, 2)
    hangs = steps.Step("hangs", "sleep 60 & echo $! > child; wait", 0.1)
    assert not runner.run([hangs])
    outcome = runner.outcomes[0]
    assert outcome.verdict == "stopped"
    assert outcome.seconds < 20
    stat = Path(f"/proc/{int((tmp_path / 'child').read_text())}/stat")
    with contextlib.suppress(OSError):  # it is gone
        assert stat.read_text().split()[2] == "Z"
    assert steps.Runner(tmp_path, 9, 1).expected(hangs) > outcome.seconds


@pytest.mark.usefixtures("steps")
def test_what_is_killed_may_have_process_groups_of_its_own():
    """As ninja's compilers do."""
    process = subprocess.Popen(["bash", "-c", "set -m; sleep 60 & wait"], start_new_session=True)
    from session import kill, session

    while len(session(process.pid)) < 2:
        assert process.poll() is None
    kill(process)
    process.wait()
    assert session(process.pid) == []


def test_what_needs_a_step_waits_for_it_and_is_not_run_without_it(steps, tmp_path):
    runner = steps.Runner(tmp_path, 60, 2)
    runner.run(
        [
            steps.Step("uses", "test -e made", 1, needs="makes"),
            steps.Step("lacks", "true", 1, needs="fails"),
            steps.Step("makes", "sleep 0.1; touch made", 1),
            steps.Step("fails", "false", 1),
        ]
    )
    verdicts = {each.step.name: each.verdict for each in runner.outcomes}
    assert verdicts == {"makes": "passed", "uses": "passed", "fails": "FAILED", "lacks": "blocked"}


def test_steps_run_beside_each_other_but_for_those_that_run_alone(steps, tmp_path):
    runner = steps.Runner(tmp_path, 60, 2)
    meet = "touch {0}; until test -e {1}; do sleep 0.01; done"
    pair = [steps.Step("a", meet.format("a", "b"), 1), steps.Step("b", meet.format("b", "a"), 1)]
    busy = "test ! -e busy && touch busy && sleep 0.1 && rm busy"
    alone = [steps.Step(name, busy, 1, alone=True) for name in ("c", "d")]
    assert runner.run([*pair, *alone])


@pytest.mark.parametrize("text", ["", "[1]", '{"took": {"a": 1}, "more than": {}}', '{"took": {"a": ["x"]}}'])
def test_a_file_of_durations_that_cannot_be_read_is_as_none(steps, tmp_path, text):
    write(tmp_path, {"build/quick.json": text})
    assert steps.Runner(tmp_path, 1, 1).expected(steps.Step("a", "true", 7)) == 7
