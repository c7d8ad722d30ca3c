"""How fast a recording is read: events a second and core, and memory against the recorded program's live set.

    .venv/bin/python lab/bench/decoder.py [EVENTS]

Records a program that keeps a number of blocks in use and replaces them at random, in full depth, and
reads the recording in processes of their own: as it is and compressed, on one core and on all. The bar is
for the CPU time on one core. Of five readings the fastest counts. The rates of time mean something on an
idle machine, or by `chrt -f 1`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from reap import native
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
import os, resource, sys, time
from pathlib import Path
from reap.recording.read import read
if sys.argv[2] == "one":
    os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
core = wall = 0.0
for _ in range(5):
    used, start = time.process_time(), time.perf_counter()
    events = read(Path(sys.argv[1])).totals().events
    core = max(core, events / (time.process_time() - used))
    wall = max(wall, events / (time.perf_counter() - start))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(events, core, wall, (after - before) / 1024)
"""

BARS = {100: 30e6, 10_000: 20e6, 100_000: 20e6, 1_000_000: 10e6}
"""Events a second and core, by blocks in use."""


class Reading(NamedTuple):
    """How fast a recording was read."""

    events: int
    cpu: float
    """Events a second of CPU time, ..."""
    wall: float
    """... and of time."""
    memory: float
    """MiB that reading took."""


def reading(trace: Path, cores: str) -> Reading:
    """Reads a recording on "one" core or on "all"."""
    words = [sys.executable, "-c", READER, trace, cores]
    answer = subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()
    return Reading(int(answer[0]), *map(float, answer[1:]))


def main() -> int:
    """Prints a row for each size of the live set, and whether all bars hold."""
    turns = int(sys.argv[1]) // 2 if len(sys.argv) > 1 else 2_000_000
    held = True
    build = Path(__file__).resolve().parents[2] / "build"
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=build) as name:
        folder = Path(name)
        (folder / "churn.c").write_text(PROGRAM)
        churn = folder / "churn"
        subprocess.run(["gcc", "-O2", "-fno-builtin", "-o", churn, folder / "churn.c"], check=True)
        print(f"{'M events/s of CPU':>45}{'time':>14}{'compressed':>14}")
        print(
            f"{'blocks in use':>13} {'events':>10} {'file':>9} {'one core':>10}"
            f"{'one':>7}{'all':>7}{'one':>7}{'all':>7}   memory"
        )
        for blocks, bar in BARS.items():
            trace = folder / "trace.reap"
            launch = Launch(argv=[str(churn), str(turns), str(blocks)], program=str(churn))
            record(launch, trace, "full", force=True)
            size = trace.stat().st_size / 2**20
            one = reading(trace, "one")
            rates = [one.wall, reading(trace, "all").wall]
            native.compress_file(str(trace))
            rates += [reading(trace, cores).wall for cores in ("one", "all")]
            print(
                f"{blocks:>13} {one.events:>10} {size:>5.0f} MiB {one.cpu / 1e6:>10.1f}"
                f"{''.join(f'{rate / 1e6:>7.1f}' for rate in rates)} {one.memory:>5.1f} MiB",
                flush=True,
            )
            held &= one.cpu >= bar
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
