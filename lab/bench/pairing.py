"""How narrow intervals of CPU time are: runs at the same time on one core, and one after another.

    .venv/bin/python lab/bench/pairing.py [--seconds 30] [--passes 1] [--quiet] [PROGRAM...]

Compares glibc with the usual allocators on perl, gcc, sed and CPython, by both methods in turn, each for so
many seconds, while another process keeps one core busy half of the time (not with --quiet). Prints the
half-width of the 95 % confidence interval of CPU time for each allocator and for glibc against itself. Bars
at 30 seconds: at most 1.5 % in the median, none above 2.2 %, and at most a quarter of the sequential one.

At the end, from all rounds of glibc against itself: how often an interval of so many rounds, drawn at random,
leaves 1 out. The bar is 5 %.
"""

import argparse
import math
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from reap.allocators.records import Allocator
from reap.compare.experiments import choose
from reap.compare.run import compare
from reap.experiment import statistics as intervals
from reap.experiment.folder import Folder
from reap.experiment.records import Asked, Comparison, Ratio
from reap.experiment.specify import Conditions, Workload, specify
from reap_studies.workloads import preparation

HOG = """
import time
while True:
    until = time.monotonic() + 0.05
    while time.monotonic() < until: pass
    time.sleep(0.05)
"""
JSON = """
import json
text = json.dumps([{"a": number, "b": str(number)} for number in range(2000)])
for _ in range(60): json.loads(text)
"""
CARDS = {"perl": 2, "gcc": 1, "sed": 10}
RESAMPLED = 2000


@contextmanager
def hog(*, quiet: bool) -> Iterator[None]:
    """Another process that is busy on one core half of the time."""
    if quiet:
        yield
        return
    with subprocess.Popen([sys.executable, "-c", HOG]) as process:
        os.sched_setaffinity(process.pid, {min(os.sched_getaffinity(0))})
        try:
            yield
        finally:
            process.kill()


def commands(names: list[str]) -> Iterator[tuple[str, list[str], str, dict[str, str]]]:
    """Name, command, folder and environment of each program."""
    for name, scale in CARDS.items():
        if name in names:
            ready = preparation.prepare(name, scale=scale)
            yield name, ready.argv, ready.directory, ready.environment
    if "cpython" in names:
        yield "cpython", ["/usr/bin/python3", "-c", JSON], "", {"PYTHONMALLOC": "malloc"}


def half(ratio: Ratio) -> float:
    """Half of the interval's width, in percent of 1."""
    return 100 * (ratio.ratio.high - ratio.ratio.low) / 2


def measured(
    command: list[str],
    where: Path,
    seconds: float,
    pairing: Asked,
    allocators: list[Allocator],
    directory: str,
    environment: dict[str, str],
) -> Comparison:
    """One experiment, in a folder that is thrown away."""
    spec = specify(
        command,
        allocators,
        workload=Workload(directory=directory, environment=environment),
        conditions=Conditions(budget=seconds, pairing=pairing),
    )
    with Folder.create(where, spec, None) as folder:
        return compare(folder)


def false_alarms(pairs: list[float], rounds: int, seed: int = 1) -> float:
    """The share of intervals of so many rounds that leave 1 out, centred first: the true ratio is 1."""
    middle = statistics.fmean(map(math.log, pairs))
    logs = [math.log(pair) - middle for pair in pairs]
    draw = random.Random(seed)
    wrong = 0
    for _ in range(RESAMPLED):
        found = intervals.typical([math.exp(draw.choice(logs)) for _ in range(rounds)])
        wrong += not found.low <= 1 <= found.high
    return wrong / RESAMPLED


def main() -> int:
    """Prints a row for each program and method."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--seconds", type=float, default=30)
    words.add_argument("--passes", type=int, default=1)
    words.add_argument("--quiet", action="store_true")
    words.add_argument("programs", nargs="*", default=["perl", "gcc", "sed", "cpython"])
    asked = words.parse_args()
    allocators, _ = choose(None)
    widths: dict[Asked, list[float]] = {"simultaneous": [], "sequential": []}
    noise: list[float] = []
    ratios = []
    with hog(quiet=asked.quiet), tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        for number in range(asked.passes):
            for name, command, directory, environment in commands(asked.programs):
                each = {}
                for method in widths:
                    found = measured(
                        command,
                        Path(scratch) / f"{name}-{method}-{number}",
                        asked.seconds,
                        method,
                        allocators,
                        directory,
                        environment,
                    )
                    own = {side.allocator: half(side.ratios["cpu"]) for side in found.sides if side.ratios}
                    each[method] = statistics.median(own.values()) if own else math.nan
                    widths[method] += own.values()
                    text = "  ".join(
                        f"{side.allocator} {side.ratios['cpu'].ratio.value:.3f} ±{own[side.allocator]:.1f}"
                        for side in found.sides
                        if side.ratios
                    )
                    against_itself = found.noise.get("cpu")
                    if against_itself:
                        text += f"  itself {against_itself.ratio.value:.3f} ±{half(against_itself):.1f}"
                        noise += against_itself.pairs if method == "simultaneous" else []
                    print(f"{name:8} {method:13} {found.rounds:3} rounds  {text}", flush=True)
                ratios.append(each["sequential"] / each["simultaneous"])
    at_once = widths["simultaneous"]
    print(f"\nhalf-width in the median: {statistics.median(at_once):.2f} %, at most {max(at_once):.2f} %")
    print(f"one after another: {statistics.median(widths['sequential']):.2f} %")
    print(f"narrower by {statistics.median(ratios):.1f} in the median of programs")
    if len(noise) > 10:
        alarms = ", ".join(f"{rounds}: {false_alarms(noise, rounds):.1%}" for rounds in (5, 10, 20))
        print(f"intervals that leave 1 out, of {len(noise)} pairs of glibc with itself, by rounds: {alarms}")
    held = statistics.median(at_once) <= 1.5 and max(at_once) <= 2.2 and statistics.median(ratios) >= 4
    print("the bars are held" if held else "a bar is missed")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
