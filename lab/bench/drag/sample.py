"""How near the sampling drag engine comes to the exact one, and whether its intervals say so.

    .venv/bin/python lab/bench/drag/sample.py [RUNS [PROGRAM...]]

Every program runs once under the exact engine and RUNS times (40) under the sampler, with so long a gap that
about 2,000 objects are drawn. The bars: drag within 10 % in 95 of 100 runs, unless the result says that few
objects rule it; the mean within two of its own standard errors; and the truth within the intervals as often
as they say, up to what chance does to so few runs. What it costs, `lab/bench/drag/overhead.py` measures.
"""

import math
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from overhead import PERL, PYTHON, ROOT
from scipy.stats import binom

from reap.drag.exact import launch as drag
from reap.drag.exact import valgrind
from reap.drag.exact.analyse import profile
from reap.drag.exact.read import read_all
from reap.drag.sample import run
from reap.drag.sample.analyse import process
from reap.drag.sample.read import read
from reap.drag.sample.records import SampledProcess
from reap.launch.records import Launch

SAMPLES = 2000
WITHIN = 0.1
HERE = Path(__file__).parent


def main() -> int:
    """Prints a row for each program; the exit code says whether every bar was held."""
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    engine = valgrind.ready(print)
    print(f"{'program':<22} {'exact':>7} {'mean':>7} {'+-':>6} {'off by':>7} {'within 10 %':>12} ", end="")
    print(f"{'covered':>9} {'samples':>8} {'few':>4}")
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as folder:
        launches = programs(Path(folder))
        chosen = sys.argv[2:] or list(launches)
        held = [row(name, launches[name], engine, runs) for name in chosen]
    return 0 if all(held) else 1


def programs(folder: Path) -> dict[str, Launch]:
    """Those that are compiled are put into the folder."""
    lives, trees, own = str(folder / "lives"), str(folder / "trees"), str(folder / "own")
    for source, binary in ((HERE / "lives.cpp", lives), (HERE / "trees.cpp", trees)):
        subprocess.run(["g++", "-std=c++20", "-O2", "-o", binary, source], check=True)
    source = HERE.parents[1] / "test" / "targets" / "drag" / "lifetimes.c"
    subprocess.run(["gcc", "-O1", "-w", "-pthread", "-fno-builtin", "-o", own, source], check=True)
    return {
        "C++ trees and strings": Launch(argv=[trees], program=trees),
        "growing vectors": Launch(argv=[lives, "vectors"], program=lives),
        "cache": Launch(argv=[lives, "cache"], program=lives),
        "batches": Launch(argv=[lives, "batches"], program=lives),
        "two threads": Launch(argv=["/bin/sh", "-c", f"exec {own} 400000 threads >&2"], program="/bin/sh"),
        "perl": Launch(argv=["/usr/bin/perl", "-e", PERL], program="/usr/bin/perl"),
        "python json, malloc": Launch(
            argv=["/usr/bin/python3", "-c", PYTHON],
            program="/usr/bin/python3",
            environment={"PYTHONMALLOC": "malloc"},
        ),
    }


def row(title: str, launch: Launch, engine: Path, runs: int) -> bool:
    """Measures one program and prints its row."""
    exact, size = truth(launch, engine)
    pairs = [sampled(launch, size // SAMPLES, exact) for _ in range(runs)]
    found = [each for each, _ in pairs]
    told = [(each.drag, true) for each, true in pairs if each.drag is not None]
    values = [each.value / true for each, true in told]
    mean = statistics.fmean(values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    off = math.sqrt(statistics.fmean([(value - 1) ** 2 for value in values]))
    within = sum(abs(value - 1) <= WITHIN for value in values)
    covered = sum(each.low <= true <= each.high for each, true in told)
    few = sum(each.few for each in found)
    chance = int(binom.ppf(0.01, runs, 0.95))  # so few of as many come by chance once in a hundred times
    held = {
        "mean": abs(mean - 1) <= 2 * error,
        "interval": covered >= chance,
        "10 %": within >= chance or few >= runs / 2,
    }
    missed = ", ".join(name for name, good in held.items() if not good)
    print(
        f"{title:<22} {exact:>7.3f} {mean * exact:>7.3f} {error * exact:>6.3f} {off:>7.1%} "
        f"{within:>9}/{runs} {covered:>6}/{runs} {found[0].samples:>8} {few:>4}  "
        f"{'MISSED: ' + missed if missed else 'held'}",
        flush=True,
    )
    return not missed


def truth(launch: Launch, engine: Path) -> tuple[float, int]:
    """Drag by the exact engine, and the bytes allocated."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        outcome = drag.run(launch, engine, Path(name), depth=2)
        files = read_all(Path(name), drag.RECORDINGS, [])
        result = profile(files, launch.argv, status=outcome.status, notes=[])
    level = result.processes[0].levels[0]
    return level.drag, level.total.bytes


def sampled(launch: Launch, period: int, exact: float) -> tuple[SampledProcess, float]:
    """What a run's samples say, and the truth: threads take turns as it comes, and say it themselves."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        outcome = run.run(launch, Path(name), period=period)
        files = [read(path) for path in Path(name).glob(run.FILES)]
    if outcome.stderr_tail:
        live, needed, _ = outcome.stderr_tail.split()
        exact = float(live) / float(needed)
    return process(max(files, key=lambda file: file.clock)), exact


if __name__ == "__main__":
    sys.exit(main())
