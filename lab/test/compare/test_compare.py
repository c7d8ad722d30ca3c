"""Comparing allocators on real programs: good ones, bad ones, and programs that are hard to compare."""

import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import ends, library, program, reap, reap_command

from reap.allocators import catalog
from reap.base import units
from reap.base.errors import ExitCode, ReapError
from reap.compare import run as comparing
from reap.experiment import once, sequential
from reap.experiment.folder import Folder, read_runs
from reap.experiment.runner import Listener
from reap.experiment.specify import Conditions, Workload, specify
from reap.experiment.starter import Starter


class Ear(Listener):
    """Keeps what it hears."""

    def __init__(self):
        self.said = []
        self.seen = []

    def say(self, text):
        self.said.append(text)

    def progress(self, done, total, label):
        self.seen.append((done, total, label))


def compare(where, command, allocators=("good",), stdin=None, listener=None, **options):
    text = ",".join(["glibc", *(name if "=" in name else f"{name}={library(name)}" for name in allocators)])
    workload = Workload(directory=options.pop("directory", ""))
    baseline = options.pop("baseline", "glibc")
    conditions = Conditions(**{"runs": 2, "stdin": stdin is not None, **options})
    spec = specify(command, catalog.parse(text), baseline=baseline, workload=workload, conditions=conditions)
    with Folder.create(where / "experiment", spec, stdin) as folder:
        return comparing.compare(folder, listener)


def side_of(comparison, name):
    return next(side for side in comparison.sides if side.allocator == name)


def test_a_good_allocator(tmp_path):
    comparison = compare(tmp_path, [program("busy")], runs=5)
    (side,) = comparison.sides
    assert side.verified
    assert side.provider == library("good")
    assert (side.same_output, side.same_exit, side.problem, side.rounds) == (True, True, "", 5)
    assert side.ratios.keys() == comparison.noise.keys() >= {"cpu", "wall", "peak_resident", "minor_faults"}
    assert all(len(ratio.pairs) == 5 for ratio in side.ratios.values())
    assert 0.2 < side.ratios["cpu"].ratio.value < 5
    assert (comparison.exit_code, comparison.rounds, comparison.stdout_varies) == (0, 5, False)
    assert not comparing.differs(comparison)


@pytest.mark.parametrize(
    ("name", "problem"),
    [("crashes", "ended by SIGSEGV (in the warm-up)"), ("hangs", "did not end within 0.5 s")],
)
def test_an_allocator_that_breaks_the_program_is_reported_and_the_others_go_on(tmp_path, name, problem):
    comparison = compare(tmp_path, [program("busy"), "big"], [name, "good"], runs=3, timeout=0.5)
    bad, good = comparison.sides
    assert problem in bad.problem
    assert not bad.same_exit
    assert bad.ratios == {}
    assert (good.problem, good.rounds) == ("", 3)
    assert comparing.differs(comparison)
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert sum(run.cell.allocator == name for run in runs) == 1, "it is not run again"


def test_an_allocator_that_changes_the_exit_code(tmp_path):
    comparison = compare(tmp_path, [program("busy"), "big"], ["refuses"])
    assert comparison.exit_code == 0
    assert comparison.sides[0].problem == "exit status 7 instead of 0"
    assert not comparison.sides[0].same_exit
    assert comparing.differs(comparison)


def test_an_allocator_that_changes_the_output(tmp_path):
    comparison = compare(tmp_path, [program("busy"), "big"], ["talks"])
    assert comparison.sides[0].same_output is False
    assert comparison.sides[0].same_exit
    assert comparing.differs(comparison)


def test_output_that_varies_by_itself_is_not_compared(tmp_path):
    comparison = compare(tmp_path, ["/bin/sh", "-c", "cat /proc/sys/kernel/random/uuid"])
    assert comparison.stdout_varies
    assert comparison.sides[0].same_output is None
    assert not comparing.differs(comparison)


def test_a_program_that_always_fails_is_compared_all_the_same(tmp_path):
    comparison = compare(tmp_path, ["/bin/sh", "-c", "exit 3"])
    assert comparison.exit_code == 3
    assert comparison.sides[0].same_exit


def test_a_program_with_its_own_malloc_is_not_measured_under_another(tmp_path):
    comparison = compare(tmp_path, [program("own_malloc")])
    (side,) = comparison.sides
    assert not side.verified
    assert "brings its own malloc" in side.problem
    assert comparison.baseline == f"its own ({Path(program('own_malloc')).name})"
    assert side.ratios == {}
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert all(run.warmup for run in runs)


@pytest.mark.parametrize(
    ("script", "code", "message"),
    [("kill -ABRT $$", 134, "ended by SIGABRT"), ("sleep 9", ExitCode.TIMED_OUT, "did not end within 0.2 s")],
)
def test_a_program_that_is_broken_by_itself(tmp_path, script, code, message):
    with pytest.raises(ReapError, match=message) as caught:
        compare(tmp_path, ["/bin/sh", "-c", script], timeout=0.2)
    assert caught.value.code == code


@pytest.mark.parametrize("command", [["no-such-program"], [program("peak_static"), "1"]])
def test_a_program_that_cannot_be_compared_is_refused_before_anything_is_made(tmp_path, command):
    with pytest.raises(ReapError):
        compare(tmp_path, command)
    assert list(tmp_path.iterdir()) == []


def test_standard_input_is_the_same_for_every_run(tmp_path):
    comparison = compare(tmp_path, ["/bin/cat"], stdin=[b"words\n" * 1000])
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert {run.outcome.stdout_bytes for run in runs} == {6000}
    assert comparison.sides[0].same_output


def test_prepare_and_cleanup_surround_every_run_and_are_not_measured(tmp_path):
    log = tmp_path / "log"
    compare(
        tmp_path,
        ["/bin/sh", "-c", f"echo run >> {log}"],
        prepare=f"sleep 0.05; echo prepare >> {log}",
        cleanup=f"echo cleanup >> {log}",
        directory=str(tmp_path),
    )
    lines = log.read_text().split()
    assert lines == ["prepare", "run", "cleanup"] * 8
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert all(run.seconds - run.outcome.wall_ns * 1e-9 > 0.05 for run in runs)


def test_a_prepare_command_that_fails_ends_it_with_its_words(tmp_path):
    with pytest.raises(ReapError, match="--prepare command failed with 2") as caught:
        compare(tmp_path, [program("busy")], prepare="echo no such luck >&2; exit 2")
    assert "no such luck" in caught.value.hint


def test_it_says_how_often_the_program_runs_before_it_does(tmp_path):
    ear = Ear()
    compare(tmp_path, [program("busy")], runs=3, listener=ear)
    assert "runs 11 times" in ear.said[0]
    assert ear.said[1].startswith("9 runs in 3 rounds, about ")
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert len(runs) == 11
    assert ear.seen[-1] == (9, 9, "")


def test_a_budget_bounds_how_often_it_says_the_program_runs(tmp_path):
    ear = Ear()
    compare(tmp_path, [program("busy")], runs=0, budget=0.01, listener=ear)
    assert "runs as often as 0.01 s allow: a warm-up under each of 2 allocators" in ear.said[0]


def takes_a_fifth_of_a_second(monkeypatch, warm_up=0.2):
    """Each run does, on a clock of its own; the first two, which are warm-ups, take `warm_up`."""
    seconds, begun = [0.0], itertools.count()
    start = Starter.start

    def slowly(self, cell, *, probe):
        seconds[0] += warm_up if next(begun) < 2 else 0.2
        return start(self, cell, probe=probe)

    monkeypatch.setattr(Starter, "start", slowly)
    monkeypatch.setattr(once.time, "monotonic", lambda: seconds[0])
    return seconds


def test_the_budget_bounds_the_time(tmp_path, monkeypatch):
    seconds = takes_a_fifth_of_a_second(monkeypatch)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=2.5)
    assert seconds[0] == pytest.approx(2 * 0.2 + 3 * 3 * 0.2)
    assert comparison.stopped_early
    assert comparison.rounds == 3
    assert "the budget of 2.5 s allows" in comparison.notes[0]


def test_the_first_round_corrects_what_slow_warm_ups_foretold(tmp_path, monkeypatch):
    """Another process had the cores meanwhile: the budget is for as many rounds as it has time for."""
    monkeypatch.setattr(comparing.analyse, "decided", lambda _so_far: False)
    seconds = takes_a_fifth_of_a_second(monkeypatch, warm_up=2.0)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=10.3)
    assert (comparison.rounds, comparison.widening) == (10, sequential.WIDENING)
    assert not [note for note in comparison.notes if "budget" in note]
    assert seconds[0] == pytest.approx(2 * 2.0 + 10 * 3 * 0.2)


def test_the_first_round_takes_back_what_quick_warm_ups_foretold(tmp_path, monkeypatch):
    seconds = takes_a_fifth_of_a_second(monkeypatch, warm_up=0.01)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=1.5)
    assert (comparison.rounds, comparison.stopped_early) == (2, True)
    assert "the budget of 1.5 s allows 2 rounds" in comparison.notes[0]
    assert seconds[0] <= 1.5


def test_what_is_reserved_of_a_budget_is_left_to_what_follows(tmp_path, monkeypatch):
    seconds = takes_a_fifth_of_a_second(monkeypatch)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=5, reserved=0.5)
    assert seconds[0] == pytest.approx(2 * 0.2 + 3 * 3 * 0.2)
    assert comparison.rounds == 3
    assert "the budget of 5 s allows 3 rounds" in comparison.notes[0]
    assert comparison.notes[0].endswith("(50 % of it is kept for later trials)")


def test_what_two_rounds_need_has_what_is_reserved(tmp_path, monkeypatch):
    takes_a_fifth_of_a_second(monkeypatch)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=1, reserved=0.5)
    assert comparison.needed_budget == 4


@pytest.mark.parametrize(("budget", "rounds"), [(0.7, "0 rounds"), (1.2, "1 round")])
def test_a_budget_too_small_for_two_rounds_says_what_it_needs(tmp_path, monkeypatch, budget, rounds):
    takes_a_fifth_of_a_second(monkeypatch)
    ear = Ear()
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=budget, listener=ear)
    assert comparison.stopped_early
    assert units.number(comparison.rounds, "round") == rounds
    assert comparison.needed_budget == 2
    note = f"allows {rounds}, and an interval needs at least two: give --budget 2 for two, "
    assert note in comparison.notes[0]
    assert not [said for said in ear.said if "1 rounds" in said or "0 rounds" in said]


def test_the_budget_that_is_asked_for_is_enough(tmp_path, monkeypatch):
    takes_a_fifth_of_a_second(monkeypatch)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=2)
    assert (comparison.rounds >= 2, comparison.needed_budget) == (True, 0)


def test_the_baseline_may_be_another(tmp_path):
    comparison = compare(tmp_path, [program("busy")], baseline="good")
    assert comparison.baseline == "good"
    assert [side.allocator for side in comparison.sides] == ["glibc"]


def test_nothing_to_compare_with(tmp_path):
    with pytest.raises(ReapError, match="nothing to compare glibc with"):
        compare(tmp_path, [program("busy")], [])


def finished(where):
    """How many runs the log in this folder has; the folder is there a moment before its log."""
    log = where / "runs.jsonl"
    return len(log.read_bytes().splitlines()) if log.exists() else 0


def test_a_kill_loses_one_run_and_resume_goes_on(tmp_path):
    where = tmp_path / "e"
    command = ["compare", "-a", f"good={library('good')}", "-n", "4", "-o", str(where)]
    sleep = f"sleep 0.1{os.getpid()}"
    process = subprocess.Popen(
        [*reap_command(), *command, "--", "/bin/sh", "-c", sleep],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    while finished(where) < 5:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    before, _ = read_runs(where / "runs.jsonl")
    assert 5 <= len(before) < 14
    assert ends(sleep)
    done = reap("compare", "--resume", str(where))
    assert done.returncode == 0, done.stderr
    after, _ = read_runs(where / "runs.jsonl")
    assert after[: len(before)] == before
    assert len(after) == 14
    assert len({(run.warmup, run.cell.key()) for run in after}) == 14


def test_resume_with_more_rounds_extends_the_experiment(tmp_path):
    where = tmp_path / "e"
    done = reap("compare", "-a", f"good={library('good')}", "-n", "2", "-o", str(where), "--", "/bin/true")
    assert done.returncode == 0, done.stderr
    before, _ = read_runs(where / "runs.jsonl")
    refused = reap("compare", "--resume", str(where), "--runs", "2")
    assert refused.returncode == ExitCode.USAGE
    assert "the experiment has 2 rounds already" in refused.stderr
    refused = reap("compare", "--resume", str(where), "--budget", "0.001")
    assert refused.returncode == ExitCode.USAGE
    assert "the experiment has taken" in refused.stderr
    done = reap("compare", "--resume", str(where), "--runs", "4")
    assert done.returncode == 0, done.stderr
    assert "rounds were added after 2" in done.stdout
    after, _ = read_runs(where / "runs.jsonl")
    assert after[: len(before)] == before
    assert len([run for run in after if not run.warmup]) == 4 * 3
    again = reap("compare", "--resume", str(where))
    assert again.returncode == 0, again.stderr
    assert read_runs(where / "runs.jsonl")[0] == after, "more rounds are for good"


@pytest.mark.parametrize(("runs", "rounds"), [(0, sequential.LOOKS[0]), (7, 7)])
def test_rounds_end_at_a_look_once_all_is_decided(tmp_path, monkeypatch, runs, rounds):
    monkeypatch.setattr(comparing.analyse, "decided", lambda _so_far: True)
    ear = Ear()
    comparison = compare(tmp_path, ["/bin/true"], runs=runs, listener=ear)
    assert (comparison.rounds, comparison.decided) == (rounds, runs == 0)
    assert comparison.widening == (1 if runs else sequential.WIDENING)
    assert ("fewer once all are decided" in ear.said[1]) == (runs == 0)
    with Folder.resume(tmp_path / "experiment") as folder:
        assert comparing.compare(folder) == comparison, "it is decided still"


def test_rounds_go_on_while_something_is_open(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(comparing.analyse, "decided", asked.append)
    takes_a_fifth_of_a_second(monkeypatch)
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=9)
    assert [each.rounds for each in asked] == [6, 12]
    assert (comparison.rounds, comparison.decided) == (14, False)


def test_few_rounds_are_not_looked_at_and_have_intervals_for_a_fixed_number(tmp_path, monkeypatch):
    monkeypatch.setattr(comparing.analyse, "decided", lambda _so_far: True)
    takes_a_fifth_of_a_second(monkeypatch)
    ear = Ear()
    comparison = compare(tmp_path, ["/bin/true"], runs=0, budget=4.2, listener=ear)
    assert (comparison.rounds, comparison.decided, comparison.widening) == (6, False, 1)
    assert "fewer once" not in ear.said[1]


def test_ctrl_c_names_the_command_that_goes_on(tmp_path):
    where = tmp_path / "e"
    command = [
        "compare",
        "-a",
        f"good={library('good')}",
        "-n",
        "50",
        "-o",
        str(where),
        "--",
        "/bin/sleep",
        "0.1",
    ]
    process = subprocess.Popen(
        [*reap_command(), *command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    while finished(where) < 3:
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with: reap compare --resume {where}" in said
    assert "Traceback" not in said
    assert len(read_runs(where / "runs.jsonl")[0]) >= 3


def test_a_finished_experiment_runs_nothing_again(tmp_path):
    first = compare(tmp_path, [program("busy")])
    with Folder.resume(tmp_path / "experiment") as folder:
        size = len(folder.runs)
        again = comparing.compare(folder)
        assert len(folder.runs) == size
    assert again == first


def test_as_a_library_it_is_silent():
    code = f"""
import pathlib, tempfile
from reap.allocators import catalog
from reap.compare import run
from reap.experiment.folder import Folder
from reap.experiment.specify import Conditions, specify
with tempfile.TemporaryDirectory() as scratch:
    allocators = catalog.parse("good={library("good")}")
    spec = specify([{program("busy")!r}], allocators, conditions=Conditions(runs=2))
    with Folder.create(pathlib.Path(scratch) / "e", spec) as folder:
        assert run.compare(folder).sides[0].verified
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def killed_in_a_round(where, monkeypatch, allocator):
    """Of 3 rounds at once: in the second the runs under this allocator are killed, as if memory ran out."""
    kills = iter([0, 0, 0, 1, 1, 1])
    monkeypatch.setattr(once.memory, "out_of_memory_kills", lambda: next(kills))
    other = "case $LD_PRELOAD in *good*) false;; esac"
    when = other if allocator == "glibc" else f"! {{ {other}; }}"
    script = f"case {{arm}} in r001*) {when} && kill -KILL $$;; esac; exit 0"
    return compare(where, ["/bin/sh", "-c", script], runs=3, pairing="simultaneous")


def test_a_run_killed_for_memory_with_all_at_once_is_told_and_the_others_are_measured(tmp_path, monkeypatch):
    comparison = killed_in_a_round(tmp_path, monkeypatch, "good")
    (side,) = comparison.sides
    assert "memory ran out with all runs of the round at once (--pairing sequential runs" in side.problem
    assert "(in round 2)" in side.problem
    assert comparison.rounds == 2, "no other is left"
    assert comparison.noise["cpu"].pairs


def test_a_round_in_which_the_baseline_was_killed_counts_for_nothing(tmp_path, monkeypatch):
    comparison = killed_in_a_round(tmp_path, monkeypatch, "glibc")
    (side,) = comparison.sides
    assert not side.problem
    assert (comparison.rounds, side.rounds) == (2, 2)
    assert comparison.exit_code == 0
    assert any("memory ran out" in note and "counts for nothing" in note for note in comparison.notes)
    assert not any("exit status varies" in note for note in comparison.notes)
