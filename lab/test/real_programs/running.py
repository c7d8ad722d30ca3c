"""Runs an entry alone, or under one of Reap's verbs, in the same place and the same environment."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from comparing import Seen, files_of
from entries import Entry

PLACE = Path("/tmp/reap-real-programs")
"""Always the same, since programs name their folders in what they print."""
MARK = "REAP_REAL_PROGRAM"
"""In the environment of all that an entry starts, so that what it leaves running is found."""
REAP = [sys.executable, "-c", "from reap.cli.main import main; main()"]
SLOWER = 4
DRAG_SLOWER = 20

# Numbered, because `reap wall` runs it several times. Builtins alone: each program costs Valgrind a second.
SCRIPT = """\
number=0
while [ -e "../output.$number" ]; do number=$((number + 1)); done
if [ $number != 0 ]; then rm -rf ../work; mkdir ../work; cd ../work; fi
exec >"../output.$number" 2>"../errors.$number" </dev/null
unset XDG_CACHE_HOME number OLDPWD
"""

WAYS = {
    "alone": [],
    "triage": [*REAP, "record", "--depth", "triage", "-o", "{own}/x.reap", "--"],
    "full": [*REAP, "record", "--depth", "full", "-o", "{own}/x.reap", "--"],
    "rss": [*REAP, "rss", "-o", "{own}/x.csv", "--"],
    "wall": [*REAP, "wall", "--no-try", "-o", "{own}/wall", "--"],
    "drag": [*REAP, "drag", "--"],
    # Not Reap: tells what Valgrind alone does to a program.
    "valgrind": [
        "valgrind",
        "--tool=none",
        "--trace-children=yes",
        "--vgdb=no",
        "-q",
        "--log-file=/dev/null",
    ],
}
VERBS = ("triage", "full", "rss", "wall", "drag")


@dataclass(frozen=True)
class Ended:
    """A run, or the several that `reap wall` makes."""

    runs: list[Seen]
    seconds: float
    timed_out: bool
    said: str
    """The end of what the verb itself said, on standard error."""
    recording: Path | None


def run(entry: Entry, way: str) -> Ended:
    """Runs the entry once. Its folder and what the verb wrote stay until the next run."""
    place = PLACE / entry.name
    own = PLACE / f"{entry.name}.{way}"
    for folder in (place, own):
        shutil.rmtree(folder, ignore_errors=True)
    (place / "work").mkdir(parents=True)
    own.mkdir()
    (place / "script").write_text(SCRIPT + entry.script)
    words = [word.replace("{own}", str(own)) for word in WAYS[way]]
    slower = DRAG_SLOWER if way in {"drag", "valgrind"} else SLOWER
    limit = entry.limit * (1 if way == "alone" else slower)
    begin = time.monotonic()
    log = own / "said"
    with log.open("wb") as said:
        process = subprocess.Popen(
            [*words, "/bin/sh", str(place / "script")],
            cwd=place / "work",
            env=_environment(entry, place),
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        timed_out = False
        try:
            status = process.wait(limit)
        except subprocess.TimeoutExpired:
            timed_out, status = True, 124
        finally:
            _end_leftovers(entry)
            process.wait()
    recording = own / "x.reap"
    return Ended(
        runs=_runs(place, status if status >= 0 else 128 - status),
        seconds=time.monotonic() - begin,
        timed_out=timed_out,
        said=log.read_text(errors="replace")[-2000:],
        recording=recording if recording.exists() else None,
    )


def _environment(entry: Entry, place: Path) -> dict[str, str]:
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin",
        "HOME": str(place / "work"),
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "TERM": "xterm",
        "USER": "root",
        "SHELL": "/bin/sh",
        "XDG_CACHE_HOME": cache,  # for reap: the script begins with taking it out
        MARK: entry.name,
    }


def _runs(place: Path, status: int) -> list[Seen]:
    outputs = sorted(place.glob("output.*"), key=lambda path: int(path.suffix[1:]))
    files = files_of(place / "work")
    return [
        Seen(
            status=status,
            streams={
                "standard output": path.read_bytes(),
                "standard error": path.with_name(f"errors{path.suffix}").read_bytes(),
            },
            files=files,
        )
        for path in outputs
    ]


def _end_leftovers(entry: Entry) -> None:
    """Ends what still runs of it: all that has its mark."""
    mark = f"{MARK}={entry.name}\0".encode()
    for _ in range(50):
        found = False
        for path in Path("/proc").glob("[0-9]*/environ"):
            with contextlib.suppress(OSError):
                if mark in path.read_bytes():
                    os.kill(int(path.parent.name), signal.SIGKILL)
                    found = True
        if not found:
            return
        time.sleep(0.05)
