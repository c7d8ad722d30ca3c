"""`reap compare --server` within a budget: what is planned, refused and named."""

import json
import re
import shlex
from pathlib import Path

import pytest
from programs import reap
from served import load, running, server

from reap.base.errors import ExitCode

pytestmark = pytest.mark.timed


def words(mode: str = "serves") -> list[str]:
    """The server needs 20 ms for a request, and 40 ms under Reap's own allocator."""
    own = ["--server", f"{server()} {{port}} {mode}", "--ready", "tcp", "--load", f"{load()} {{port}}"]
    return ["-a", "glibc,reap", "--worth", "10%", "-o", "there", *own]


def test_a_budget_that_is_too_small_is_refused_with_one_that_decides(tmp_path: Path) -> None:
    done = reap("compare", "--budget", "2", *words(), cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE, done.stderr
    said = " ".join(done.stderr.split())
    assert "--budget 2 is too small to decide whether CPU time changes by 10.0 %" in said
    given = re.search(r"reap (compare --resume \S+ --budget \d+);", said)
    assert given, said
    decided = reap(*shlex.split(given[1]), cwd=tmp_path)
    assert decided.returncode == ExitCode.OK, decided.stderr
    assert "reap takes" in decided.stdout
    assert not running()


def test_what_was_seen_is_answered_with_a_budget_that_decides(tmp_path: Path) -> None:
    """`reap run` has looked at the server before it knows that trials take longer than they may."""
    done = reap("run", "--budget", "2", "--json", "x.json", *words(), cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "--budget 2 is too small" in " ".join(done.stderr.split())
    verdict = json.loads((tmp_path / "x.json").read_text())["answers"][0]["diagnosis"]
    assert verdict["headline"] == "inconclusive"
    assert "nothing was tried" in verdict["paragraph"]
    again = shlex.split(verdict["next_command"])
    assert again[:2] == ["reap", "run"]
    assert int(again[again.index("--budget") + 1]) > 2


def test_the_loads_of_a_start_are_planned_from_the_warm_ups_and_the_first_round(tmp_path: Path) -> None:
    done = reap("compare", "--budget", "40", *words(), cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    planned = json.loads((tmp_path / "there/experiment.json").read_text())["spec"]["server"]["planned"]
    runs = [json.loads(line) for line in (tmp_path / "there/runs.jsonl").read_text().splitlines()]
    assert {len(run["outcome"]["loads"]) for run in runs if run["cell"].get("repeat")} == {planned}


def compared(where: Path, mode: str) -> dict:
    done = reap("compare", "-n", "2", "--loads", "1", "--json", "x.json", *words(mode), cwd=where)
    assert done.returncode == ExitCode.OK, done.stderr
    return json.loads((where / "x.json").read_text())["answers"][0]["comparison"]


def test_a_server_that_does_not_start_twice_is_started_in_turns(tmp_path: Path) -> None:
    """It locks a file in its folder."""
    pairing = compared(tmp_path, "locks")["pairing"]
    assert pairing["method"] == "sequential"
    assert "two do not run side by side: reap_test_server ended with exit status 9" in pairing["reason"]
    assert "locked" in pairing["reason"]


def test_a_server_that_is_busy_without_a_load_is_named(tmp_path: Path) -> None:
    notes = compared(tmp_path, "restless")["notes"]
    assert any(re.search(r"reap_test_server used [\d.]+ % of a core without a load", note) for note in notes)


def test_a_server_that_sleeps_without_a_load_is_not_named(tmp_path: Path) -> None:
    assert not any("without a load" in note for note in compared(tmp_path, "serves")["notes"])


def test_a_server_that_is_cold_for_longer_is_warmed_up_for_longer(tmp_path: Path) -> None:
    """The first three requests of a start take 50 ms more, one of them in the warm-up."""
    given = ("--budget", "40", "--json", "x.json", *words("cools"))
    done = reap("compare", *given, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    answer = json.loads((tmp_path / "x.json").read_text())["answers"][0]["comparison"]
    assert any("--warmup 3 has them from the start" in note for note in answer["notes"])
    assert answer["sides"][0]["ratios"]["cpu"]["ratio"]["value"] == pytest.approx(2, rel=0.2)
    runs = [json.loads(line) for line in (tmp_path / "there/runs.jsonl").read_text().splitlines()]
    later = [load["cpu_ns"] for run in runs if run["cell"].get("repeat") for load in run["outcome"]["loads"]]
    assert max(later) < 0.06e9
