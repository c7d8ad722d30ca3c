"""How much pairs of runs vary of programs that use several cores or wait, by how the runs are paired.

    .venv/bin/python lab/bench/compare/turns.py [--rounds 10] [--programs NAME,...] [METHOD...]

Methods: one after another, in turns by the freezer of cgroups, in turns by signals, and at once on one core,
one after another in each round, so that all meet the same machine. Prints for each the standard deviation of
a pair of glibc against itself (of the logarithm of its ratio) in CPU time and in wall time, what 30 seconds
leave of it (half of a 95 % CI), and jemalloc's ratios, with the machine's load.
"""

import argparse
import math
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from reap.allocators import catalog
from reap.launch import freezer, spawn, together
from reap.launch.records import Launch, Outcome

SECONDS = 30.0

ALLOCATING = r"""
    #include <pthread.h>
    #include <stdlib.h>
    #include <string.h>
    enum { live = 4000, turns = 3000000 };
    static void *work(void *given) {
        void **kept = calloc(live, sizeof *kept);
        unsigned long seed = (unsigned long)given;
        for (int turn = 0; turn < turns; turn++) {
            seed = seed * 6364136223846793005UL + 1442695040888963407UL;
            unsigned long at = (seed >> 33) % live;
            free(kept[at]);
            kept[at] = malloc(16 + (seed >> 50) % 500);
            memset(kept[at], 1, 16);
        }
        return kept;
    }
    int main(void) {
        pthread_t all[2];
        for (long i = 0; i < 2; i++) pthread_create(all + i, 0, work, (void *)(i + 1));
        for (int i = 0; i < 2; i++) pthread_join(all[i], 0);
        return 0;
    }"""
HASHING = """
import hashlib, threading
def work():
    for _ in range(400): hashlib.sha256(bytes(1 << 20)).digest()
threads = [threading.Thread(target=work) for _ in range(2)]
for each in threads: each.start()
for each in threads: each.join()
"""
WAITING = """
import time
for _ in range(120):
    sorted(str(n * 7919 % 10007) for n in range(3000))
    time.sleep(0.005)
"""


def programs(folder: Path) -> Mapping[str, list[str]]:
    """By name what is run."""
    source = folder / "allocating.c"
    source.write_text(ALLOCATING)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", folder / "allocating", source], check=True)
    draw = random.Random(1)
    (folder / "words").write_text("".join(f"{draw.random()}\n" for _ in range(400_000)))
    return {
        "allocating": [str(folder / "allocating")],
        "hashing": ["/usr/bin/python3", "-c", HASHING],
        "sort": ["sort", "--parallel=2", "--buffer-size=64M", str(folder / "words")],
        "waiting": ["/usr/bin/python3", "-c", WAITING],
    }


def run(method: str, launches: Sequence[Launch]) -> list[Outcome]:
    """The runs of a round."""
    if method == "sequential":
        return [spawn.run(each) for each in launches]
    if method == "simultaneous":
        return together.run(launches, random.choice(sorted(os.sched_getaffinity(0))))
    here = freezer.here
    try:
        if method == "signals":
            freezer.here = lambda: None  # type: ignore[assignment]
        return together.run(launches, None)
    finally:
        freezer.here = here


METHODS = ("sequential", "freezer", "signals", "simultaneous")


def log_ratios(values: Sequence[Sequence[float]], of: int) -> list[float]:
    """Of each round: that of an arm to the first one."""
    return [math.log(each[of] / each[0]) for each in values]


def ratio(logs: Sequence[float]) -> str:
    """The mean of these with about its 95 % CI."""
    half = 2 * statistics.stdev(logs) / math.sqrt(len(logs))
    return f"{math.exp(statistics.fmean(logs)):.3f} ±{half:.3f}"


def main() -> int:
    """Prints a row for each program and method."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=10)
    words.add_argument("--programs", default="")
    words.add_argument("methods", nargs="*", metavar="METHOD", choices=[*METHODS, []], default=[])
    asked = words.parse_args()
    methods = asked.methods or METHODS
    library = catalog.parse("jemalloc")[0].library
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        for name, argv in programs(Path(scratch)).items():
            if asked.programs and name not in asked.programs.split(","):
                continue
            base = Launch(argv=argv, program=shutil.which(argv[0]) or argv[0])
            arms = [base, base, msgspec.structs.replace(base, allocator=library)]
            cpu: dict[str, list[list[float]]] = {method: [] for method in methods}
            wall: dict[str, list[list[float]]] = {method: [] for method in methods}
            seconds = dict.fromkeys(methods, 0.0)
            for _ in range(asked.rounds):
                for method in methods:
                    order = random.sample(range(3), 3)
                    begun = time.monotonic()
                    outcomes = dict(zip(order, run(method, [arms[at] for at in order]), strict=True))
                    seconds[method] += time.monotonic() - begun
                    cpu[method].append([float(outcomes[at].cpu_ns) for at in range(3)])
                    wall[method].append([float(outcomes[at].wall_ns) for at in range(3)])
            for method in methods:
                own, walls = log_ratios(cpu[method], 1), log_ratios(wall[method], 1)
                half = 2 * statistics.stdev(own) / math.sqrt(SECONDS * asked.rounds / seconds[method])
                print(
                    f"{name:11} {method:13} CPU {statistics.stdev(own):6.1%} a pair, "
                    f"±{half:.1%} in {SECONDS:g} s; wall {statistics.stdev(walls):6.1%}; "
                    f"jemalloc {ratio(log_ratios(cpu[method], 2))}, "
                    f"wall {ratio(log_ratios(wall[method], 2))} "
                    f"({seconds[method] / asked.rounds:.1f} s a round, load {os.getloadavg()[0]:.1f})",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
