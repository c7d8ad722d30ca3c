"""A full study in parts: runs are kept as JSON lines, and results are published once it is whole.

    .venv/bin/python studies/bench/full.py STUDY [--seconds S] [--on WHERE] [--rounds N] [--results FOLDER]

Begins `reap study STUDY --full` in FOLDER/STUDY/runs (reap-results/STUDY/runs), or resumes what is there, and
stops it after S seconds, as Ctrl-C does at any time. Run it again and again, on the same machine with the
same programs; a reap of another commit may go on. FOLDER/STUDY/parts.jsonl says of each part which commit
made it and how busy the machine was. When the study is whole, its page, JSON, CSV and drawings go to
FOLDER/STUDY, and its runs are removed. Studies with rounds on several cores run N experiments at a time
(--on), and at most so many rounds (--rounds).

Exits with 0 where the study is whole, 130 where it was stopped, and else as reap does. Nothing is committed:
keep.py writes what the repository keeps, and `setup/release build --results` attaches the rest to a release.
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

PUBLISHED = ("study.html", "study.json", "figures.csv", "*.svg")
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


def main() -> int:
    """A part of the study, or the last of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("study")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--on")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--results", type=Path, default=Path("reap-results"))
    parser.add_argument("--reap", default=str(REAP))
    parser.add_argument("--commit", default=head(), help="of that reap, if not of this checkout")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it
    folder = (asked.results / asked.study).absolute()
    folder.mkdir(parents=True, exist_ok=True)
    given = {"--on": asked.on, "--rounds": asked.rounds}
    more = [word for option, value in given.items() if value for word in (option, str(value))]
    note(folder, begins=asked.commit)
    status = conduct(asked.reap, asked.study, folder / "runs", asked.seconds, more)
    note(folder, ends=status)
    if status == 0:
        publish(folder / "runs")
        print(f"What the repository keeps: {sys.executable} {Path(__file__).with_name('keep.py')} {folder}")
    return status


if __name__ == "__main__":
    sys.exit(main())
