"""How true the sampled share of time in the allocator is, and what being watched costs.

    .venv/bin/python lab/bench/wall_share.py [ROUNDS]

Each case is run with its allocations, without them, and watched, at the same time on one core. The truth is
the part of CPU time that goes with the allocations; it has what the allocator does to caches in it, which no
sampling sees. The bars: 8 points in the mean, 16 at worst, 3 % more CPU time.
"""

import statistics as plain
import subprocess
import sys
import tempfile
from pathlib import Path

from recorder import together

from reap.evidence.analyse import facts
from reap.evidence.analyse.owners import ALLOCATOR_FILES, ALLOCATOR_FUNCTIONS
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch
from reap.recording import watch

ROOT = Path(__file__).resolve().parents[2]
CASES = (
    ("cached", 0, 1_000_000), ("cached", 40, 500_000), ("cached", 200, 120_000),
    ("knee", 0, 45_000), ("knee", 60, 20_000), ("knee", 300, 6_000),
    ("large", 100, 60_000), ("large", 1000, 15_000),
    ("fresh", 0, 30), ("fresh", 20_000_000, 12), ("fresh", 100_000_000, 4),
)  # fmt: skip
"""Pattern, work beside each block, turns: some tenths of a second each."""
MEAN, WORST, OVERHEAD = 8.0, 16.0, 1.03


def main() -> int:
    """Prints a row for each case; the exit code says whether every bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    errors, pairs = [], []
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        program = Path(name) / "wall-share"
        source = Path(__file__).with_suffix(".c")
        subprocess.run(["gcc", "-O2", "-g", "-fno-builtin", "-pthread", "-o", program, source], check=True)
        print(
            f"{'pattern':<8} {'work':>9} {'truth':>7} {'sampled':>8} {'error':>6}  CPU time, watched / alone"
        )
        for pattern, work, turns in CASES:
            words = [pattern, str(work), str(turns)]
            error, ratios = row(program, words, rounds)
            errors.append(error)
            pairs += ratios
    overhead = statistics.interval(pairs)
    mean, worst = plain.fmean(errors), max(errors, key=abs)
    absolute = plain.fmean(map(abs, errors))
    print(f"error: {absolute:.1f} points in the mean, {worst:+.1f} at worst; bias {mean:+.1f}")
    print(f"watched: {overhead.value:.3f} [{overhead.low:.3f}, {overhead.high:.3f}] of the CPU time alone")
    held = absolute <= MEAN and abs(worst) <= WORST and overhead.low <= OVERHEAD
    print("held" if held else f"OVER {MEAN:g} points, {WORST:g} points or {OVERHEAD:g}")
    return 0 if held else 1


def row(program: Path, words: list[str], rounds: int) -> tuple[float, list[float]]:
    """Measures one case and prints it: the error in points, the ratios of CPU time."""

    def launch(mode: str) -> Launch:
        return Launch(argv=[str(program), mode, *words], program=str(program))

    trace = program.with_suffix(".reap")
    saved, ratios = [], []
    inside = every = 0
    for number in range(rounds + 1):
        trace.unlink(missing_ok=True)
        alone, without, watched = together(
            lambda: spawn.run(launch("with")).cpu_ns,
            lambda: spawn.run(launch("without")).cpu_ns,
            lambda: watch.run(launch("with"), trace).cpu_ns,
        )
        if number == 0:
            continue
        seen = watch.read(trace, files=ALLOCATOR_FILES, functions=ALLOCATOR_FUNCTIONS)
        rows = facts.samples(seen)
        inside += sum(each.count for each in rows if each.inside or fresh(words[0], each.call, each.kernel))
        every += sum(each.count for each in rows)
        saved.append(without / alone)
        ratios.append(watched / alone)
    truth = 100 * (1 - statistics.interval(saved).value)
    sampled = 100 * inside / every
    cost = statistics.interval(ratios)
    print(
        f"{words[0]:<8} {words[1]:>9} {truth:>6.1f}% {sampled:>7.1f}% {sampled - truth:>+6.1f}  "
        f"{cost.value:.3f} [{cost.low:.3f}, {cost.high:.3f}]",
        flush=True,
    )
    return sampled - truth, ratios


def fresh(pattern: str, call: int | None, kernel: bool) -> bool:
    """Whether a sample is a fault of the program in fresh memory, which goes with the allocation as well.

    `reap wall` tells it apart from time in the allocator; what it costs is known only together.
    """
    return pattern == "fresh" and kernel and call is None


if __name__ == "__main__":
    sys.exit(main())
