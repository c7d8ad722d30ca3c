"""How soon `reap --help` answers: wall seconds, median and worst of twenty. The bar is 0.3 s.

.venv/bin/python lab/bench/start.py
"""

import statistics
import subprocess
import sys
import time
from pathlib import Path


def main() -> int:
    """Prints one line; the exit code says whether the bar was held."""
    reap = Path(sys.executable).parent / "reap"
    seconds = []
    for _ in range(20):
        begun = time.perf_counter()
        subprocess.run([reap, "--help"], stdout=subprocess.DEVNULL, check=True)
        seconds.append(time.perf_counter() - begun)
    print(f"reap --help: median {statistics.median(seconds):.3f} s, worst {max(seconds):.3f} s of 20")
    return 0 if statistics.median(seconds) < 0.3 else 1


if __name__ == "__main__":
    sys.exit(main())
