"""What preconditioning a heap costs: time, bookkeeping, and what the preload costs that has nothing to do.

    .venv/bin/python lab/bench/fragment.py [ROUNDS]

The bars: ten million objects in 2 s of CPU time and less than 16 bytes of bookkeeping each, in random order
under every usual allocator that is installed; at multiplier 0 the program's CPU time within 1 % of a run
without the preload, in pairs on one core. Ten million objects take 1.4 GB of memory.
"""

import sys

from recorder import paired, real_programs

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.litter import run as littering
from reap.launch.litter.level import LEVELS, custom
from reap.launch.litter.records import ORDERS, Litter
from reap.launch.records import Launch

OBJECTS = 10_000_000
MIX = [(size, 16_000 // size) for size in range(16, 512, 8)]
"""Many small sizes and few large ones; 133 bytes in the mean."""

PYTHON = r"""
import ast
for _ in range(3): ast.dump(ast.parse("x = [a * b for a, b in zip(c, d)]\n" * 4000))
"""


def main() -> int:
    """Prints a row for each allocator and each program; the exit code says whether every bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    print(f"{'allocator':<10} {'order':<9} {'seconds':>8} {'bytes an object':>16}")
    held = True
    for name in ("glibc", "jemalloc", "mimalloc", "tcmalloc"):
        found = catalog.find(name)
        if isinstance(found, Allocator):
            held &= litter_row(found)
    print(f"\n{'program':<10} {'alone':>9} {'preload':>9}  ratio [95 % CI]        rounds")
    for title, launch in real_programs(PYTHON):
        held &= preload_row(title, launch, rounds)
    return 0 if held else 1


def litter_row(allocator: Allocator) -> bool:
    """Measures one allocator and prints its rows."""
    launch = Launch(argv=["true"], program="/bin/true", allocator=allocator.library)
    bytes_each = _bookkeeping(launch)
    held = True
    for order in ORDERS:
        how = Litter(level=custom(1, 0.33), sizes=MIX, peak=OBJECTS, order=order)
        (one,) = littering.run(launch, how).litterings
        seconds = (one.user_ns + one.system_ns) / 1e9
        good = seconds <= 2 and bytes_each < 16 and not one.failure
        if order == "random":
            held &= good
        verdict = "held" if good else f"OVER {one.failure}"
        print(f"{allocator.name:<10} {order:<9} {seconds:>7.2f}s {bytes_each:>15.1f}B  {verdict}", flush=True)
    return held


def _bookkeeping(launch: Launch) -> float:
    """The peak above what stays, where all of it stays."""
    done = littering.run(launch, Litter(level=custom(1, 1), sizes=MIX, peak=OBJECTS))
    return (done.gross.peak_resident - done.litterings[0].resident_after) / OBJECTS


def preload_row(title: str, launch: Launch, rounds: int) -> bool:
    """Measures one program and prints its row."""
    nothing = Litter(level=LEVELS["adv0"], sizes=MIX, peak=1)
    pairs = paired(
        lambda: spawn.run(launch).cpu_ns,
        lambda: littering.run(launch, nothing).outcome.cpu_ns,
        rounds,
    )
    estimate = statistics.interval([b / a for a, b in pairs])
    first, second = (sorted(side)[len(pairs) // 2] / 1e9 for side in zip(*pairs, strict=True))
    good = estimate.low <= 1.01 and estimate.high >= 0.99
    verdict = "inconclusive" if good else "beyond 1 %"
    if abs(estimate.value - 1) <= 0.01:
        verdict = "held"
    print(
        f"{title:<10} {first:>8.3f}s {second:>8.3f}s  {estimate.value:.3f} "
        f"[{estimate.low:.3f}, {estimate.high:.3f}]  {len(pairs):>4}  {verdict}",
        flush=True,
    )
    return good


if __name__ == "__main__":
    sys.exit(main())
