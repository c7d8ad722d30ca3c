"""Threads: a reap's time beside the bump pointer's when every core is busy, and frees in other threads.

Each process runs all contenders in rounds, in turn; its figure is the median of its rounds. A ratio is made
within a process, and is the median over the processes; beside it stand the least and the most. Scaling is
CPU time: what one thread takes divided by what each of several takes. Who waits for a lock takes none, so
it is said how often a thread gave its processor up. A pipe and a ring are measured by the clock on the
wall, since whoever is ahead waits; on a machine that does something else they are noise.
"""

import json
import os
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path

from reap.allocators import catalog
from reap.allocators.records import Allocator
from workloads import LOADED, Ratio, environment, in_words

ROUNDS = 12
BASELINE = "bump"
OURS = "Reap"
ALONE = ("region", "fifo")
"""Workloads in which each thread frees its own."""
ACROSS = {"batch": "cpu_ns", "mixed": "cpu_ns", "pipe": "wall_ns", "ring": "wall_ns"}
"""Workloads in which another thread frees, and what counts."""
SCALING_BAR = 0.95
"""Of the bump pointer's own scaling, at least."""
ACROSS_PEER = "mimalloc"
"""No slower than any release of it."""

Record = Callable[..., None]
Key = tuple[str, str, int]
"""Workload, contender, threads."""
Process = dict[Key, dict[str, float]]
"""Figures of one process."""


class Samples:
    """Of each process, the median of its rounds."""

    def __init__(self) -> None:
        self.processes: list[Process] = []

    def add(self, rows: list[dict[str, float | str | int]]) -> None:
        """What one process printed. Its first round is left out: nothing is warm then."""
        rounds: dict[Key, list[dict[str, float | str | int]]] = defaultdict(list)
        for row in rows:
            if row["round"] != 0:
                rounds[str(row["workload"]), str(row["contender"]), int(row["threads"])].append(row)
        self.processes.append(
            {
                key: {
                    figure: statistics.median(float(row[figure]) for row in of_key)
                    for figure in ("cpu_ns", "wall_ns", "waits")
                }
                for key, of_key in rounds.items()
            }
        )

    def contenders(self) -> list[str]:
        """All of them, the baseline and ours first."""
        names = {contender for process in self.processes for _, contender, _ in process}
        return [BASELINE, OURS, *sorted(names - {BASELINE, OURS})]

    def threads(self) -> int:
        """The most at one time."""
        return max(threads for process in self.processes for *_, threads in process)

    def median(self, key: Key, figure: str) -> float | None:
        """Over the processes."""
        values = [process[key][figure] for process in self.processes if key in process]
        return statistics.median(values) if values else None


def run(folder: Path, record: Record, *, processes: int, quick: bool) -> bool:
    """Runs and prints all; whether the bars were held."""
    most = len(os.sched_getaffinity(0))
    samples = Samples()
    for number in range(1 if quick else processes):
        rows = start(folder / "bench-threads", 3 if quick else ROUNDS, most)
        for row in rows:
            record(process=number, **row)
        samples.add(rows)
    print_table(samples)
    return print_bars(samples)


def start(program: Path, rounds: int, most: int) -> list[dict[str, float | str | int]]:
    """One process. A library that cannot be loaded ends it, and is named."""
    loads = [
        f"{each.name}={each.library}"
        for each in catalog.survey()
        if isinstance(each, Allocator) and each.name.startswith(LOADED)
    ]
    answer = subprocess.run(
        [str(program), str(rounds), str(most), *loads],
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise RuntimeError(f"bench-threads: {answer.stderr.strip() or answer.returncode}")
    return [json.loads(line) for line in answer.stdout.splitlines()]


def print_table(samples: Samples) -> None:
    """Nanoseconds an object."""
    most = samples.threads()
    columns = [(workload, threads, "cpu_ns") for workload in ALONE for threads in sorted({1, most})]
    if most > 1:
        columns += [
            (workload, most if workload == "ring" else 2, figure) for workload, figure in ACROSS.items()
        ]
    print(f"\nThreads, ns an object, CPU time; pipe and ring by the clock ({most} cores):\n")
    width = max(map(len, samples.contenders())) + 2
    print(" " * width + "".join(f"{f'{workload} {threads}':>10}" for workload, threads, _ in columns))
    for contender in samples.contenders():
        cells = [
            samples.median((workload, contender, threads), figure) for workload, threads, figure in columns
        ]
        print(f"{contender:<{width}}" + "".join(f"{'-' if x is None else f'{x:.3g}':>10}" for x in cells))


def print_bars(samples: Samples) -> bool:
    """Scaling, beside the bump pointer's; frees of another thread's objects, beside mimalloc's."""
    most = samples.threads()
    if most == 1:
        print("bench: one core; how threads keep up cannot be measured here")
        return True
    print(f"\nBars, median [least, most] of {len(samples.processes)} processes:\n")
    held = True
    for workload in ALONE:
        for threads in range(2, most + 1):
            ratio = ratio_of(
                scaling(process, workload, OURS, threads) / scaling(process, workload, BASELINE, threads)
                for process in samples.processes
            )
            held &= ratio.value >= SCALING_BAR
            print(
                f"{workload:<7} {threads} threads, scaling of {OURS} / of {BASELINE}  {in_words(ratio)}  "
                f"{'held' if ratio.value >= SCALING_BAR else f'UNDER {SCALING_BAR}'}; gave the processor up "
                f"{samples.median((workload, OURS, threads), 'waits'):.0f} times"
            )
    for workload, figure in ACROSS.items():
        threads = most if workload == "ring" else 2
        for peer in samples.contenders()[2:]:
            ratio = ratio_of(
                process[workload, OURS, threads][figure] / process[workload, peer, threads][figure]
                for process in samples.processes
            )
            verdict = ""
            if peer.startswith(ACROSS_PEER):
                held &= ratio.value <= 1
                verdict = "held" if ratio.value <= 1 else "SLOWER"
            print(f"{workload:<7} {OURS} / {peer:<16} {in_words(ratio)}  {verdict}".rstrip())
    return held


def scaling(process: Process, workload: str, contender: str, threads: int) -> float:
    """1: each of several threads is as fast as one alone."""
    return process[workload, contender, 1]["cpu_ns"] / process[workload, contender, threads]["cpu_ns"]


def ratio_of(values: Iterable[float]) -> Ratio:
    """Of what each process says."""
    values = list(values)
    return Ratio(statistics.median(values), min(values), max(values))
