"""What a mark costs: nanoseconds of CPU time for one request begun and ended, by who listens.

.venv/bin/python lab/bench/marks.py [ROUNDS]

A loop of nothing but marks, in C and in Python; medians over rounds, interleaved, less what an empty loop
takes.
"""

import statistics
import subprocess
import sys
import tempfile
from importlib.resources import files
from pathlib import Path

import msgspec

from reap.launch import spawn
from reap.launch.records import Launch
from reap.recording import record

LOOP = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "reap/mark.h"
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}
int main(int argc, char **argv) {
    const long turns = atol(argv[1]);
    double begun = now();
    for (long turn = 0; turn < turns; turn++) __asm__ volatile("" ::: "memory");
    const double empty = now() - begun;
    reap_mark_request_begin();
    reap_mark_request_end();
    begun = now();
    for (long turn = 0; turn < turns; turn++) {
        __asm__ volatile("" ::: "memory");
        reap_mark_request_begin();
        reap_mark_request_end();
    }
    fprintf(stderr, "%.3f", (now() - begun - empty) / turns);
    return 0;
}
"""

PYTHON = """
import sys, time
from reap import mark
turns = int(sys.argv[1])
begun = time.process_time_ns()
for _ in range(turns): pass
empty = time.process_time_ns() - begun
begun = time.process_time_ns()
for _ in range(turns):
    with mark.request(): pass
print((time.process_time_ns() - begun - empty) / turns, end="", file=sys.stderr)
"""

WAYS = ("nobody", "requests", "triage", "full")


def empty(launch: Launch) -> float:
    """Nanoseconds that a request in which nothing happens is said to take; the median."""
    times = spawn.run(msgspec.structs.replace(launch, requests=True)).requests
    return times.p50_ns if times else float("nan")


def once(way: str, launch: Launch, folder: Path) -> float:
    """Nanoseconds a request, as the loop says itself."""
    if way in ("triage", "full"):
        outcome = record.record(launch, folder / "loop.reap", way, force=True)
    else:
        outcome = spawn.run(msgspec.structs.replace(launch, requests=way == "requests"))
    return float(outcome.stderr_tail)


def main() -> int:
    """Prints a line for each language."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        loop = folder / "loop"
        compiler = ["gcc", "-O2", f"-I{files('reap') / 'include'}", "-x", "c", "-o", loop, "-"]
        subprocess.run(compiler, input=LOOP, text=True, check=True)
        own: list[str] = []
        print(f"{'ns a request':<14}" + "".join(f"{way:>12}" for way in WAYS))
        for name, argv in (
            ("C", [str(loop), "2000000"]),
            ("Python", [sys.executable, "-c", PYTHON, "200000"]),
        ):
            launch = Launch(argv=argv, program=argv[0])
            taken = [[once(way, launch, folder) for way in WAYS] for _ in range(rounds)]
            medians = [statistics.median(column) for column in zip(*taken, strict=True)]
            print(f"{name:<14}" + "".join(f"{median:>12.2f}" for median in medians))
            own.append(f"{empty(launch):.0f} ns in {name}")
    print(f"a request in which nothing happens is timed at {' and '.join(own)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
