"""A full study in parts: its runs are committed as JSON lines after each, and its results once it is whole.

    .venv/bin/python lab/bench/study/full.py STUDY [--seconds S] [--local N] [--rounds N] [--results FOLDER]

Begins `reap study STUDY --full` in FOLDER/STUDY/runs (docs/results/STUDY/runs), or resumes what is there, and
stops it after S seconds, as Ctrl-C does at any time. What has ended by then is committed: JSON, and nothing
that was built. Run it again and again, on the same machine with the same programs; a reap of another commit
may go on. FOLDER/STUDY/parts.jsonl says of each part which commit made it and how busy the machine was. When
the study is whole, its page, JSON, CSV and drawings go to FOLDER/STUDY, and its runs are removed, in the last
commit. Studies with rounds on several cores run N experiments at a time (--local), and at most so many rounds
(--rounds).

Exits with 0 where the study is whole, 130 where it was stopped, and else as reap does, without a commit.
"""

import argparse
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

STOPPED = 130
PUBLISHED = ("study.html", "study.json", "figures.csv", "*.svg")
COMMITTED = {".html", ".json", ".jsonl", ".csv", ".svg"}
REAP = Path(sys.executable).with_name("reap")


def conduct(reap: str, study: str, runs: Path, seconds: float | None, more: Sequence[str]) -> int:
    """Goes on with the study for so long; its exit status."""
    begun = (runs / "plan.json").is_file()
    words = ["--resume", str(runs)] if begun else ["--full", "-o", str(runs)]
    process = subprocess.Popen([reap, "study", study, *words, *more])
    with contextlib.suppress(subprocess.TimeoutExpired, KeyboardInterrupt):
        return process.wait(seconds)
    process.send_signal(signal.SIGINT)
    return process.wait()


def lines(folder: Path) -> int:
    """How many runs are kept."""
    logs = [*folder.glob("runs/*/runs.jsonl"), *folder.glob("runs/samples.jsonl")]
    return sum(path.read_bytes().count(b"\n") for path in logs)


def note(folder: Path, **said: object) -> None:
    """Adds what is to be known of a part to parts.jsonl."""
    clock = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    part = {"at": clock, "runs": lines(folder), "load": os.getloadavg()[0], **said}
    with (folder / "parts.jsonl").open("a") as file:
        file.write(json.dumps(part) + "\n")


def head() -> str:
    """The commit of the checkout that this file is in; empty outside of one."""
    words = ["git", "-C", str(Path(__file__).parent), "rev-parse", "HEAD"]
    return subprocess.run(words, check=False, capture_output=True, text=True).stdout.strip()


def publish(runs: Path) -> None:
    """Moves what is to be read beside the runs, and removes those."""
    for pattern in PUBLISHED:
        for path in runs.glob(pattern):
            path.replace(runs.parent / path.name)
    shutil.rmtree(runs)


def commit(folder: Path, subject: str) -> None:
    """All data that changed in the folder, and nothing else that may be staged; outside of git nothing."""
    at = ["git", "-C", str(folder)]
    if subprocess.run([*at, "rev-parse", "--git-dir"], check=False, capture_output=True).returncode != 0:
        return
    found = [path for path in folder.rglob("*") if path.is_file() and path.suffix in COMMITTED]
    names = "\0".join(str(path.relative_to(folder)) for path in found)
    subprocess.run([*at, "add", "--update", "."], check=True)
    subprocess.run(
        [*at, "add", "--pathspec-from-file=-", "--pathspec-file-nul"], check=True, input=names, text=True
    )
    if subprocess.run([*at, "diff", "--cached", "--quiet", "--", "."], check=False).returncode != 0:
        subprocess.run([*at, "commit", "--quiet", "-m", subject, "--", "."], check=True)


def main() -> int:
    """A part of the study, or the last of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--local", type=int)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--results", type=Path, default=Path("docs/results"))
    parser.add_argument("--reap", default=str(REAP))
    parser.add_argument("--commit", default=head(), help="of that reap, if not of this checkout")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    folder = (asked.results / asked.study).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    given = {"--local": asked.local, "--rounds": asked.rounds}
    more = [word for option, value in given.items() if value for word in (option, str(value))]
    note(folder, begins=asked.commit)
    status = conduct(asked.reap, asked.study, folder / "runs", asked.seconds, more)
    note(folder, ends=status)
    if status == 0:
        publish(folder / "runs")
        commit(folder, f"results: the full study {asked.study}")
    elif status == STOPPED:
        commit(folder, f"results: {lines(folder)} runs of the study {asked.study}")
    return status


if __name__ == "__main__":
    sys.exit(main())
