"""What `reap export` and `reap diff` take for long recordings: CPU time, events a second, memory.

    .venv/bin/python lab/bench/recording/exports.py [EVENTS]

Records the program of lab/bench/decoder.py with 100,000 blocks in use in full depth, EVENTS events (10
million), and writes every format of it, one after another: with 100 million there are never more than 1.5 GB
in build/. Up to 10 million a second recording is made, and compared. The bars: of 100 million events the
aggregated formats in 10 s, Parquet 5 M events/s, chrome-trace 0.5 M/s; `reap diff` of two recordings of 10
million in 5 s and 500 MB.
"""

import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from decoder import PROGRAM

FORMATS = ("collapsed", "speedscope", "pprof", "chrome-trace", "parquet", "heaptrack")
MOST_COMPARED = 10_000_000
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


def removed(path: Path) -> float:
    """Removes what was written; how large it was, in MB."""
    if path.is_dir():
        size = sum(each.stat().st_size for each in path.iterdir())
        shutil.rmtree(path)
    else:
        size = path.stat().st_size if path.exists() else 0
        path.unlink(missing_ok=True)
    return size / 1e6


def main() -> int:
    """Prints a row for each format, and one for the difference."""
    turns = (int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000) // 2
    reap = str(Path(sys.executable).with_name("reap"))
    build = Path(__file__).resolve().parents[3] / "build"
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=build) as name:
        folder = Path(name)
        (folder / "churn.c").write_text(PROGRAM)
        churn = folder / "churn"
        subprocess.run(["gcc", "-O2", "-g", "-fno-builtin", "-o", churn, folder / "churn.c"], check=True)
        files = [str(folder / "a.reap"), *([str(folder / "b.reap")] if 2 * turns <= MOST_COMPARED else [])]
        for file in files:
            words = [reap, "record", "--depth", "full", "-o", file, "--", str(churn), str(turns), "100000"]
            subprocess.run(words, check=True, capture_output=True)
        out = folder / "out.gz"
        commands = {form: [reap, "export", files[0], "--to", form, "-o", str(out)] for form in FORMATS}
        if len(files) > 1:
            commands["diff"] = [reap, "diff", *files]
        print(f"{'':>12} {'CPU s':>7} {'wall s':>7} {'M events/CPU s':>14} {'MiB':>5} {'MB written':>10}")
        for what, words in commands.items():
            begin = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, *words], check=True, capture_output=True, text=True
            )
            wall = time.monotonic() - begin
            cpu, memory = map(float, done.stdout.split())
            rate = 2 * turns / cpu / 1e6
            print(
                f"{what:>12} {cpu:7.2f} {wall:7.2f} {rate:14.1f} {memory:5.0f} {removed(out):10.1f}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
