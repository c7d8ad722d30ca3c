"""What `reap export` and `reap diff` take for long recordings: CPU time, events a second, memory.

    .venv/bin/python lab/bench/recording/exports.py [EVENTS]

Records the program of lab/bench/decoder.py with 100,000 blocks in use twice in full depth, EVENTS events (10
million) each, and writes every format of the first. The bars: of 100 million events the aggregated formats in
10 s, Parquet 5 M events/s, chrome-trace 0.5 M/s; `reap diff` of two recordings of 10 million in
5 s and 500 MB.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from decoder import PROGRAM

FORMATS = ("collapsed", "speedscope", "pprof", "chrome-trace", "parquet")
MEASURE = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)
"""


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
        files = [str(folder / "a.reap"), str(folder / "b.reap")]
        for file in files:
            words = [reap, "record", "--depth", "full", "-o", file, "--", str(churn), str(turns), "100000"]
            subprocess.run(words, check=True, capture_output=True)
        commands = {
            form: [reap, "export", files[0], "--to", form, "-o", str(folder / form)] for form in FORMATS
        }
        print(f"{'':>12} {'CPU s':>7} {'M events/s':>10} {'MiB':>5}")
        for what, words in {**commands, "diff": [reap, "diff", *files]}.items():
            done = subprocess.run(
                [sys.executable, "-c", MEASURE, *words], check=True, capture_output=True, text=True
            )
            cpu, memory = map(float, done.stdout.split())
            print(f"{what:>12} {cpu:7.2f} {2 * turns / cpu / 1e6:10.1f} {memory:5.0f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
