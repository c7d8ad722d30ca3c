"""How soon reap answers: wall time of `reap --help`, and CPU time of recording a program that does nothing.

.venv/bin/python lab/bench/start.py

The median and the worst of twenty each; the bars are 0.3 s and 0.15 s.
"""

import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REAP = str(Path(sys.executable).parent / "reap")


def cpu_seconds() -> float:
    """CPU time of all children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> int:
    """Prints a line for each; the exit code says whether the bars were held."""
    answered, recorded = [], []
    with tempfile.TemporaryDirectory() as folder:
        record = [REAP, "record", "-f", "-o", f"{folder}/true.reap", "--", "true"]
        for _ in range(20):
            begun = time.perf_counter()
            subprocess.run([REAP, "--help"], stdout=subprocess.DEVNULL, check=True)
            answered.append(time.perf_counter() - begun)
            before = cpu_seconds()
            subprocess.run(record, capture_output=True, check=True)
            recorded.append(cpu_seconds() - before)
    held = True
    for what, seconds, bar in (("reap --help", answered, 0.3), ("reap record -- true, CPU", recorded, 0.15)):
        middle = statistics.median(seconds)
        print(f"{what}: median {middle:.3f} s, worst {max(seconds):.3f} s of 20")
        held &= middle < bar
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
