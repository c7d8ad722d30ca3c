"""A full study in parts: studies/bench/full.py, with a stand-in for reap that is stopped and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "full.py"
REAP = """#!/bin/sh
# study NAME --full -o PLACE, or --resume PLACE: 3 runs, then it waits to be stopped; resumed, it ends.
trap 'exit 130' INT
for place; do :; done
if [ "$3" = --resume ]; then
    [ -f "$place/plan.json" ] || exit 2
    echo page >"$place/study.html"
    echo '{}' >"$place/study.json"
    exit 0
fi
mkdir -p "$place/perl"
echo '{}' >"$place/plan.json"
echo built >"$place/program"
for run in 1 2 3; do echo '{}' >>"$place/perl/runs.jsonl"; done
while :; do sleep 0.02; done
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "reap").write_text(REAP)
    (tmp_path / "reap").chmod(0o755)
    return tmp_path


def part(place: Path, *words: str) -> int:
    command = [sys.executable, str(SCRIPT), "ismm2026", "--reap", "./reap", "--results", "results", *words]
    return subprocess.run(command, cwd=place, check=False).returncode


def test_a_study_is_run_in_parts_and_published_when_whole(place: Path) -> None:
    assert part(place, "--seconds", "1", "--commit", "one") == 130
    folder = place / "results/ismm2026"
    assert (folder / "runs/perl/runs.jsonl").read_text().count("\n") == 3
    assert part(place, "--commit", "two") == 0
    assert {each.name for each in folder.iterdir()} == {"parts.jsonl", "study.html", "study.json"}
    parts = [json.loads(line) for line in (folder / "parts.jsonl").read_text().splitlines()]
    assert [each["begins"] for each in parts if "begins" in each] == ["one", "two"]
    assert [(each["ends"], each["runs"]) for each in parts if "ends" in each] == [(130, 3), (0, 3)]


def test_a_part_that_was_killed_is_gone_on_with(place: Path) -> None:
    words = [sys.executable, str(SCRIPT), "ismm2026", "--reap", "./reap", "--results", "results"]
    first = subprocess.Popen(words, cwd=place, start_new_session=True)
    runs = place / "results/ismm2026/runs/perl/runs.jsonl"
    until = time.monotonic() + 60
    while not runs.is_file() or runs.read_text().count("\n") < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert part(place) == 0
    assert (place / "results/ismm2026/study.html").is_file()


def test_the_exit_status_is_that_of_reap(place: Path) -> None:
    (place / "reap").write_text("#!/bin/sh\nexit 2\n")
    assert part(place) == 2
