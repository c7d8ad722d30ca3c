"""A full study in parts: its runs are committed as JSON lines after each, and its results once it is whole.

    .venv/bin/python lab/bench/study/full.py STUDY [--seconds S] [--results FOLDER] [--reap COMMAND]

Begins `reap study STUDY --full` in FOLDER/STUDY/runs (docs/results/STUDY/runs), or resumes what is there, and
stops it after S seconds, as Ctrl-C does at any time. What has ended by then is committed. Run it again and
again, on the same machine with the same programs. When the study is whole, its page, JSON, CSV and drawings
go to FOLDER/STUDY, and its runs are removed, in the last commit.

Exits with 0 where the study is whole, 130 where it was stopped, and else as reap does, without a commit.
"""

import argparse
import contextlib
import shutil
import signal
import subprocess
import sys
from pathlib import Path

STOPPED = 130
PUBLISHED = ("study.html", "study.json", "figures.csv", "*.svg")
REAP = Path(sys.executable).with_name("reap")


def conduct(reap: str, study: str, runs: Path, seconds: float | None) -> int:
    """Goes on with the study for so long; its exit status."""
    begun = (runs / "plan.json").is_file()
    words = ["--resume", str(runs)] if begun else ["--full", "-o", str(runs)]
    process = subprocess.Popen([reap, "study", study, *words])
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        return process.wait(seconds)
    process.send_signal(signal.SIGINT)
    return process.wait()


def publish(runs: Path) -> None:
    """Moves what is to be read beside the runs, and removes those."""
    for pattern in PUBLISHED:
        for path in runs.glob(pattern):
            path.replace(runs.parent / path.name)
    shutil.rmtree(runs)


def commit(folder: Path, subject: str) -> None:
    """All that changed in the folder, and nothing else that may be staged."""
    at = ["git", "-C", str(folder)]
    subprocess.run([*at, "add", "--all", "."], check=True)
    if subprocess.run([*at, "diff", "--cached", "--quiet", "--", "."], check=False).returncode != 0:
        subprocess.run([*at, "commit", "--quiet", "-m", subject, "--", "."], check=True)


def main() -> int:
    """A part of the study, or the last of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    parser.add_argument("--reap", default=str(REAP))
    asked = parser.parse_args()
    folder = (asked.results / asked.study).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    status = conduct(asked.reap, asked.study, folder / "runs", asked.seconds)
    if status == 0:
        publish(folder / "runs")
        commit(folder, f"results: the full study {asked.study}")
    elif status == STOPPED:
        lines = sum(path.read_bytes().count(b"\n") for path in folder.glob("runs/*/runs.jsonl"))
        commit(folder, f"results: {lines} runs of the study {asked.study}")
    return status


if __name__ == "__main__":
    sys.exit(main())
