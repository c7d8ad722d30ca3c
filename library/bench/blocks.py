"""Ten million blocks of 64 bytes, none null, each written: seed 004's table made honest.

Each contender runs in processes of its own, because of resident memory; their order changes from run to
run. Times are thread CPU time of whole passes that nobody stamped. Percentiles are HdrHistogram's, of
runs of their own that stamp every allocation with its writes; the median of what stamping nothing takes
is subtracted from each.
"""

import json
import os
import random
import statistics
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from hdrh.histogram import HdrHistogram

from reap.allocators import catalog
from reap.allocators.records import Allocator
from workloads import LOADED

OURS = {
    "system": "FixedBlock",
    "populated": "FixedBlock, populated pages",
    "huge": "FixedBlock, huge pages",
    "huge-populated": "FixedBlock, populated huge pages",
}
WARM_BAR = 1.2
"""How many times as long the best malloc takes, warm, at least."""
P99_BAR_NS = 30
MALLOC_P99_NS = 1000

Record = Callable[..., None]


@dataclass(frozen=True)
class Contender:
    """A way to get blocks: the program's first argument, and a malloc to preload."""

    name: str
    argument: str
    preload: str = ""

    @property
    def ours(self) -> bool:
        """Whether it is the library's."""
        return self.argument != "malloc"


@dataclass(frozen=True)
class Result:
    """One run: nanoseconds a block, bytes."""

    cold: float
    warm: float
    freed: float
    cold_percentiles: dict[float, float]
    warm_percentiles: dict[float, float]
    resident: int


def run(folder: Path, record: Record, *, runs: int, quick: bool) -> bool:
    """Runs and prints all; whether the bars were held."""
    program = folder / "bench-blocks"
    count, runs = (1_000_000, 1) if quick else (10_000_000, runs)
    chosen = contenders()
    width = max(len(each.name) for each in chosen)
    print(f"\n{count:,} blocks of 64 bytes, cold then warm; total ms, average ns, P99 ns; resident KB:\n")
    print(
        f"run {'':<{width}} {'cold total':>11} {'avg':>6} {'P99':>6} "
        f"{'warm total':>11} {'avg':>6} {'P99':>6} {'RSS':>9}"
    )
    results: dict[str, list[Result]] = defaultdict(list)
    rng = random.Random(4)
    for number in range(1, runs + 1):
        for each in rng.sample(chosen, len(chosen)):
            result = measure(program, each, count)
            results[each.name].append(result)
            record(
                run=number,
                blocks=count,
                contender=each.name,
                cold_ns=result.cold,
                warm_ns=result.warm,
                free_ns=result.freed,
                cold_percentiles=result.cold_percentiles,
                warm_percentiles=result.warm_percentiles,
                resident_bytes=result.resident,
            )
            print(
                f"{number:>3} {each.name:<{width}} {result.cold * count / 1e6:>11.1f} {result.cold:>6.1f} "
                f"{result.cold_percentiles[99]:>6.0f} {result.warm * count / 1e6:>11.1f} {result.warm:>6.1f} "
                f"{result.warm_percentiles[99]:>6.0f} {result.resident / 1024:>9.0f}",
                flush=True,
            )
    print_medians(chosen, results, width)
    return print_bars(chosen, results)


def contenders() -> list[Contender]:
    """Ours, glibc's malloc, and every malloc of the catalogue that this machine has."""
    found = [Contender(name, argument) for argument, name in OURS.items()]
    found.append(Contender("glibc", "malloc"))
    found += [
        Contender(each.name, "malloc", each.library)
        for each in catalog.survey()
        if isinstance(each, Allocator) and each.name.startswith(LOADED)
    ]
    return found


def measure(program: Path, contender: Contender, count: int) -> Result:
    """Two processes: one for the totals, one for the percentiles."""
    plain = start(program, contender, count)
    with tempfile.NamedTemporaryFile() as stamps:
        stamped = start(program, contender, count, stamps.name)
        cold, warm, nothing = np.fromfile(stamps.name, dtype=np.uint32).reshape(3, count)
    per_ns, clock = stamped["ticks_per_ns"], float(np.median(nothing))
    return Result(
        cold=plain["cold_cpu_ns"] / count,
        warm=plain["warm_cpu_ns"] / count,
        freed=plain["free_cpu_ns"] / count,
        cold_percentiles=percentiles((cold - clock) / per_ns),
        warm_percentiles=percentiles((warm - clock) / per_ns),
        resident=int(plain["resident_bytes"]),
    )


def start(program: Path, contender: Contender, count: int, *stamps: str) -> dict[str, float]:
    """Runs the program once. Throws RuntimeError if it failed, or if a block was null."""
    environment = {**os.environ, "LD_PRELOAD": contender.preload}
    command = [str(program), contender.argument, str(count), *stamps]
    answer = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if answer.returncode != 0:
        raise RuntimeError(f"{contender.name}: {answer.stderr.strip() or answer.returncode}")
    figures: dict[str, float] = json.loads(answer.stdout)
    if figures["nulls"] != 0:
        raise RuntimeError(f"{contender.name}: {figures['nulls']:.0f} of {2 * count} blocks were null")
    return figures


def percentiles(nanoseconds: np.ndarray) -> dict[float, float]:
    """P50, P99 and P99.9. Recorded in tenths, with three digits."""
    histogram = HdrHistogram(1, 100_000_000_000, 3)
    tenths = np.maximum(np.rint(nanoseconds * 10), 1).astype(np.int64)
    for value, times in zip(*np.unique(tenths, return_counts=True), strict=True):
        histogram.record_value(int(value), int(times))
    return {rank: histogram.get_value_at_percentile(rank) / 10 for rank in (50, 99, 99.9)}


def print_medians(chosen: list[Contender], results: dict[str, list[Result]], width: int) -> None:
    """The table of the documents."""
    print("\nMedians of the runs, ns a block:\n")
    heads = ("cold", "warm", "free", "cold P50", "P99", "P99.9", "warm P99", "RSS MB")
    print(f"{'':<{width}}" + "".join(f"{head:>9}" for head in heads))
    for each in chosen:
        runs = results[each.name]

        def median(figure: Callable[[Result], float], runs: list[Result] = runs) -> float:
            return statistics.median(map(figure, runs))

        cells = [
            median(lambda r: r.cold),
            median(lambda r: r.warm),
            median(lambda r: r.freed),
            median(lambda r: r.cold_percentiles[50]),
            median(lambda r: r.cold_percentiles[99]),
            median(lambda r: r.cold_percentiles[99.9]),
            median(lambda r: r.warm_percentiles[99]),
            median(lambda r: r.resident / 1e6),
        ]
        print(f"{each.name:<{width}}" + "".join(f"{cell:>9.{1 if cell < 100 else 0}f}" for cell in cells))


def print_bars(chosen: list[Contender], results: dict[str, list[Result]]) -> bool:
    """Whether the bars were held."""
    mallocs = [each.name for each in chosen if not each.ours]
    ratios = [
        min(results[name][number].warm for name in mallocs) / result.warm
        for number, result in enumerate(results[OURS["system"]])
    ]
    ratio = statistics.median(ratios)
    p99 = statistics.median(result.cold_percentiles[99] for result in results[OURS["populated"]])
    least = min(statistics.median(r.cold_percentiles[99] for r in results[name]) for name in mallocs)
    glibc = statistics.median(r.cold_percentiles[99] for r in results["glibc"])
    fast, even = ratio >= WARM_BAR, p99 <= P99_BAR_NS and glibc > MALLOC_P99_NS
    print(
        f"\nwarm, the best malloc of the run / {OURS['system']}: "
        f"{ratio:.2f} [{min(ratios):.2f}, {max(ratios):.2f}]  "
        f"{'held' if fast else f'UNDER {WARM_BAR}'}"
    )
    print(
        f"cold P99, {OURS['populated']}: {p99:.0f} ns; glibc's {glibc:.0f}, the best malloc's {least:.0f}  "
        f"{'held' if even else f'OVER {P99_BAR_NS}, or glibc not over {MALLOC_P99_NS}'}"
    )
    return fast and even
