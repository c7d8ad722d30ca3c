"""A full study in parts: lab/bench/study/full.py, with a stand-in for reap that is stopped and resumed."""

import subprocess
import sys
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
    assert part(checkout, "--seconds", "1") == 130
    assert log(checkout) == ["results: 3 runs of the study ismm2026"]
    assert part(checkout) == 0
    assert log(checkout)[0] == "results: the full study ismm2026"
    tracked = subprocess.run(
        ["git", "ls-tree", "-r", "--name-only", "HEAD"],
        cwd=checkout, check=True, capture_output=True, text=True,
    ).stdout.split()  # fmt: skip
    assert tracked == [f"results/ismm2026/{name}" for name in ("study.html", "study.json")]


def test_what_fails_is_not_committed(checkout: Path) -> None:
    (checkout / "reap").write_text("#!/bin/sh\nexit 2\n")
    assert part(checkout) == 2
    done = subprocess.run(["git", "rev-parse", "--verify", "-q", "HEAD"], cwd=checkout, check=False)
    assert done.returncode != 0
