"""Comparing by marked requests: found in the first run, and timed in all others."""

import msgspec
from marked import marks
from programs import library, program, reap

from reap.allocators import catalog
from reap.base.records import Estimate
from reap.compare import run as comparing
from reap.experiment import requests, statistics
from reap.experiment.folder import Folder, read_runs
from reap.experiment.metrics import METRICS
from reap.experiment.records import Cell, Run
from reap.experiment.specify import Conditions, specify
from reap.launch.records import Outcome, RequestTimes

NAMES = ["request_p50", "request_p99", "request_p999", "request_rate"]


def compare(where, *command: str, **options):
    allocators = catalog.parse(f"glibc,good={library('good')}")
    spec = specify(list(command), allocators, conditions=Conditions(runs=2, **options))
    with Folder.create(where / "experiment", spec) as folder:
        return comparing.compare(folder)


def test_a_program_that_marks_requests_is_compared_by_them_unasked(tmp_path):
    comparison = compare(tmp_path, marks(), "plain", "2000")
    (side,) = comparison.sides
    assert [name for name in side.ratios if name in NAMES] == NAMES
    assert [name for name in comparison.noise if name in NAMES] == NAMES
    median, rate = side.ratios["request_p50"], side.ratios["request_rate"]
    assert (median.unit, rate.unit) == ("s", "per_second")
    assert 1e-9 < median.baseline < 1e-3
    assert 0 < rate.baseline < 1e9
    assert rate.more_is_better
    assert not median.more_is_better
    assert not any("requests" in note for note in comparison.notes)
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert {run.outcome.requests.count for run in runs} == {2000}


def test_percentiles_need_enough_requests(tmp_path):
    comparison = compare(tmp_path, marks(), "plain", "50")
    assert [name for name in comparison.sides[0].ratios if name in NAMES] == ["request_p50", "request_rate"]
    assert any("only 50 requests" in note for note in comparison.notes)


def test_ends_that_are_missing_are_told():
    times = RequestTimes(count=99, per_second=1, p50_ns=1, p99_ns=1, p999_ns=1, max_ns=1, unfinished=2)
    outcome = Outcome(exit_code=0, requests=times)
    run = Run(cell=Cell(workload="w", allocator="glibc"), outcome=outcome, order=0, started=0)
    assert any("2 threads of a run ended within a request" in note for note in requests.notes([run]))


def test_a_program_that_marks_nothing_is_compared_without(tmp_path):
    comparison = compare(tmp_path, program("spin"))
    assert not set(NAMES) & comparison.sides[0].ratios.keys()
    runs, _ = read_runs(tmp_path / "experiment" / "runs.jsonl")
    assert {run.outcome.requests is None for run in runs if not run.warmup} == {True}


def test_requests_that_end_in_other_threads_are_told(tmp_path):
    comparison = compare(tmp_path, marks(), "never")
    assert not set(NAMES) & comparison.sides[0].ratios.keys()
    assert any("none that begins and ends in one thread" in note for note in comparison.notes)


def test_the_command_shows_them(tmp_path):
    json_file = tmp_path / "results.json"
    answer = reap(
        *("compare", "-n", "2", "-a", f"good={library('good')}", "-o", str(tmp_path / "runs")),
        *("--details", "--json", str(json_file), "--", marks(), "plain", "1500"),
        env={"PATH": "/usr/bin:/bin", "COLUMNS": "100"},
    )
    assert answer.returncode == 0, answer.stderr
    shown = " ".join(answer.stdout.split())
    assert "requests per second" in shown
    assert "P99 request time" in shown[shown.index("Verdict: ") :]
    side = msgspec.json.decode(json_file.read_bytes())["answers"][0]["comparison"]["sides"][0]
    assert set(NAMES) <= side["ratios"].keys()


def test_more_requests_a_second_are_better():
    rate = next(metric for metric in METRICS if metric.name == "request_rate")
    assert statistics.compare(rate, [100, 101, 99], [200, 202, 198]).verdict == "better"
    assert statistics.compare(rate, [100, 101, 99], [50, 51, 49]).verdict == "worse"
    assert statistics.verdict(Estimate(value=1, low=0.9, high=1.1), more_is_better=True) == "inconclusive"
