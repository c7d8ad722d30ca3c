"""How soon triage answers: from a program's end until `reap show` has printed its report. The bar is 1 s.

    .venv/bin/python lab/bench/recording/first_answer.py [ROUNDS [WORD...]]    those whose name has one

Runs `reap record` of a program and then `reap show`, as one line of a shell. A shell that starts the program
notes when it has ended. Wall seconds, median of the rounds, and the CPU time of `reap show`. On a busy
machine start it by `chrt -f 1`: wall time says what else runs.
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recorder import AWK, JSON, ROOT, SQL, compilers, demo

BAR = 1.0
TREES = ROOT / "lab" / "bench" / "drag" / "trees.cpp"
IMPORTS = "import asyncio, ctypes, email, http.server, multiprocessing, sqlite3, unittest, xml.dom.minidom"
LONG = """
import json, threading, time
end = time.monotonic() + 30
def work():
    while time.monotonic() < end:
        json.loads(json.dumps([list(range(n)) for n in range(99)]))
threads = [threading.Thread(target=work) for _ in range(4)]
for each in threads: each.start()
for each in threads: each.join()
"""
"""Thirty seconds, four threads."""
NOTE_END = '"$@"; status=$?; date +%s.%N >"$0"; exit $status'


def main() -> int:
    """Prints a row for each program; the exit code says whether all held the bar."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    words = sys.argv[2:] or [""]
    held = True
    print(f"{'program':<24} {'record ends':>11} {'report begins':>13} {'and ends':>8}   CPU of show")
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        for title, argv in programs(Path(name)):
            if any(word in title for word in words):
                held &= row(title, argv, rounds, Path(name))
    return 0 if held else 1


def programs(folder: Path) -> list[tuple[str, list[str]]]:
    """Small and large files, with and without debug information, short and long runs."""
    perl, trees = demo("perl"), folder / "trees"
    subprocess.run(["g++", "-g", "-O1", "-std=c++20", "-o", trees, TREES], check=True)
    found = [
        ("true", ["/bin/true"]),
        ("python3, imports", ["/usr/bin/python3", "-c", IMPORTS]),
        ("python3, JSON", ["/usr/bin/python3", "-c", JSON]),
        ("python3, 30 s", ["/usr/bin/python3", "-c", LONG]),
        ("perl", [perl.program, *perl.argv[1:]]),
        ("gawk", ["/usr/bin/gawk", AWK]),
        ("C++ with -g", [str(trees), "20"]),
        ("sqlite3", ["/usr/bin/sqlite3", ":memory:", SQL]),
        ("node", ["/usr/bin/node", "-e", "JSON.parse(JSON.stringify(new Array(1e6).fill({a: 1})))"]),
    ]
    found += compilers().items()
    return [each for each in found if shutil.which(each[1][0])]


def row(title: str, argv: list[str], rounds: int, folder: Path) -> bool:
    """Measures one program and prints its row."""
    seen = [once(argv, folder) for _ in range(rounds)]
    recorded, begins, ends, cpu = (statistics.median(each) for each in zip(*seen, strict=True))
    held = bool(ends <= BAR)
    verdict = "held" if held else f"OVER {BAR} s"
    print(
        f"{title:<24} {recorded:>9.2f} s {begins:>11.2f} s {ends:>6.2f} s {cpu:>11.2f} s  {verdict}",
        flush=True,
    )
    return held


def once(argv: list[str], folder: Path) -> tuple[float, float, float, float]:
    """Seconds from the program's end to that of `reap record`, to the report's first byte and to its end.

    And the CPU time of `reap show`.
    """
    reap, end, trace = str(Path(sys.executable).with_name("reap")), folder / "end", folder / "trace.reap"
    record = [reap, "record", "-f", "-o", str(trace), "--", "/bin/sh", "-c", NOTE_END, str(end), *argv]
    silent = subprocess.DEVNULL
    subprocess.run(record, stdin=silent, stdout=silent, stderr=silent, check=True)
    recorded, before = time.time(), os.times()
    reading, writing = os.pipe()
    with (
        os.fdopen(reading, "rb") as report,
        subprocess.Popen([reap, "show", str(trace)], stdout=writing, stderr=silent) as show,
    ):
        os.close(writing)
        report.read(1)
        begins = time.time()
        report.read()
    ends, after = time.time(), os.times()
    if show.returncode != 0:
        sys.exit(f"reap show failed on a recording of {argv[0]}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    ended = float(end.read_text())
    return recorded - ended, begins - ended, ends - ended, cpu


if __name__ == "__main__":
    sys.exit(main())
