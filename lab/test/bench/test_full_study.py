"""A full study in parts: lab/bench/study/full.py, with a stand-in for reap that is stopped and resumed."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "bench" / "study" / "full.py"
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
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "reap").write_text(REAP)
    (tmp_path / "reap").chmod(0o755)
    for words in (["init", "-q"], ["config", "user.email", "a@b.c"], ["config", "user.name", "a"]):
        subprocess.run(["git", *words], cwd=tmp_path, check=True)
    return tmp_path


def part(checkout: Path, *words: str) -> int:
    command = [sys.executable, str(SCRIPT), "ismm2026", "--reap", "./reap", "--results", "results", *words]
    return subprocess.run(command, cwd=checkout, check=False).returncode


def log(checkout: Path) -> list[str]:
    done = subprocess.run(
        ["git", "log", "--format=%s"], cwd=checkout, check=True, capture_output=True, text=True
    )
    return done.stdout.splitlines()


def test_a_study_is_committed_in_parts_and_published_when_whole(checkout: Path) -> None:
    (checkout / "other").write_text("staged by somebody\n")
    subprocess.run(["git", "add", "other"], cwd=checkout, check=True)
    assert part(checkout, "--seconds", "1", "--commit", "one") == 130
    assert log(checkout) == ["results: 3 runs of the study ismm2026"]
    assert part(checkout, "--commit", "two") == 0
    assert log(checkout)[0] == "results: the full study ismm2026"
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"],
        cwd=checkout, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert tracked == [f"results/ismm2026/{name}" for name in ("parts.jsonl", "study.html", "study.json")]
    noted = (checkout / "results/ismm2026/parts.jsonl").read_text()
    parts = [json.loads(line) for line in noted.splitlines()]
    assert [each["begins"] for each in parts if "begins" in each] == ["one", "two"]
    assert [(each["ends"], each["runs"]) for each in parts if "ends" in each] == [(130, 3), (0, 3)]


def test_what_was_built_for_it_is_not_committed(checkout: Path) -> None:
    assert part(checkout, "--seconds", "1") == 130
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"],
        cwd=checkout, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert (checkout / "results/ismm2026/runs/program").is_file()
    assert "results/ismm2026/runs/perl/runs.jsonl" in tracked
    assert "results/ismm2026/runs/program" not in tracked


def test_a_part_that_was_killed_is_gone_on_with(checkout: Path) -> None:
    words = [sys.executable, str(SCRIPT), "ismm2026", "--reap", "./reap", "--results", "results"]
    first = subprocess.Popen(words, cwd=checkout, start_new_session=True)
    runs = checkout / "results/ismm2026/runs/perl/runs.jsonl"
    until = time.monotonic() + 60
    while not runs.is_file() or runs.read_text().count("\n") < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    assert part(checkout) == 0
    assert log(checkout) == ["results: the full study ismm2026"]


def test_outside_of_a_checkout_nothing_is_committed(checkout: Path) -> None:
    (checkout / ".git").rename(checkout / "elsewhere")
    assert part(checkout, "--seconds", "1") == 130
    assert part(checkout) == 0
    assert (checkout / "results/ismm2026/study.html").is_file()


def test_what_fails_is_not_committed(checkout: Path) -> None:
    (checkout / "reap").write_text("#!/bin/sh\nexit 2\n")
    assert part(checkout) == 2
    done = subprocess.run(["git", "rev-parse", "--verify", "-q", "HEAD"], cwd=checkout, check=False)
    assert done.returncode != 0
