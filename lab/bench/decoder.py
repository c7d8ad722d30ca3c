"""How fast a recording is read: events a second and core, and memory against the recorded program's live set.

    .venv/bin/python lab/bench/decoder.py [EVENTS]

Records a program that keeps a number of blocks in use and replaces them at random, in full depth, and
reads the recording in a process of its own. The bar is 20 M events a second.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from reap.launch.records import Launch
from reap.recording.record import record

PROGRAM = """
#include <stdint.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    long turns = atol(argv[1]), blocks = atol(argv[2]);
    void **live = calloc(blocks, sizeof *live);
    uint64_t state = 1;
    for (long i = 0; i < turns; ++i) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        void **slot = &live[state % blocks];
        free(*slot);
        *slot = malloc(16 + (state >> 40) % 240);
    }
    return argc < 0;
}
"""

READER = """
import resource, sys, time
from pathlib import Path
from reap.recording.read import read
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
best = 0.0
for _ in range(5):
    start = time.process_time()
    events = read(Path(sys.argv[1])).totals().events
    best = max(best, events / (time.process_time() - start))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(events, best, (after - before) / 1024)
"""


def main() -> int:
    """Prints a row for each size of the live set."""
    turns = int(sys.argv[1]) // 2 if len(sys.argv) > 1 else 2_000_000
    held = True
    build = Path(__file__).resolve().parents[2] / "build"
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=build) as name:
        folder = Path(name)
        (folder / "churn.c").write_text(PROGRAM)
        churn = folder / "churn"
        subprocess.run(["gcc", "-O2", "-fno-builtin", "-o", churn, folder / "churn.c"], check=True)
        print(f"{'blocks in use':>13} {'events':>10} {'file':>9} {'M events/s':>10} {'memory':>9}")
        for blocks in (100, 10_000, 100_000, 1_000_000):
            trace = folder / "trace.reap"
            launch = Launch(argv=[str(churn), str(turns), str(blocks)], program=str(churn))
            record(launch, trace, "full", force=True)
            answer = subprocess.run(
                [sys.executable, "-c", READER, trace], capture_output=True, text=True, check=True
            ).stdout.split()
            events, speed, memory = int(answer[0]), float(answer[1]), float(answer[2])
            size = trace.stat().st_size / 2**20
            print(
                f"{blocks:>13} {events:>10} {size:>5.0f} MiB {speed / 1e6:>10.1f} {memory:>5.1f} MiB",
                flush=True,
            )
            # With a million blocks in use every event misses the cache: shown, but not what the bar is about.
            held &= blocks > 100_000 or speed >= 20e6
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
