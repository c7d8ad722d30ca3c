"""The workloads with all contenders, in rounds over several code layouts: ratios, peaks, bars.

A round is one process: every contender runs every workload, one after another, and its time is divided
by the bump pointer's of that process. Rounds go around the layouts, which are links of the same objects
with the functions shuffled. A ratio is the median over the layouts of the median over a layout's
rounds; beside it stand the least and the most layout, which hold the median of all layouts with 98 %
where there are seven (each layout is above it or below, as a coin falls), and show what of a difference
is the layout's.
"""

import json
import os
import random
import statistics
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from reap.allocators import catalog
from reap.allocators.records import Allocator

BASELINE = "bump"
OURS = ("Region", "Reap")
WORKLOADS = ("a50", "a50F", "a1M", "a1MF", "b30", "b90", "fifo", "crt", "rea")
PEAKS = ("a1M", "b30", "b90", "fifo", "phase")

BARS = {
    "Region": {"a50": 1.02, "a50F": 1.02, "a1M": 1.02, "a1MF": 1.02, "rea": 1.02, "crt": 1.2},
    "Reap": {"a50": 1.05, "a1M": 1.02, "crt": 1.4},
    "SizedReap": {"a50": 1.02, "a1M": 1.02},
}
"""What each of ours is for, and what it may take at most, in bump pointers."""

SPACE = {"Reap": 1.01, "Reap, 16 B": 1.07, "SizedReap": 1.07}
"""What may be held at most for the mixed sizes of a1M, in bump pointers, which round to 16 bytes."""

AHEAD = {"a50": 10, "a1M": 1.5, "b30": 1.2, "b90": 1.1, "fifo": 1.15, "crt": 50}
"""How many times as fast as the heaps of mimalloc a reap is to be."""

LOADED = ("jemalloc", "mimalloc", "rpmalloc", "snmalloc", "dlmalloc")
"""Allocators of the catalogue, by the beginning of their names: loaded where this machine has them."""

Record = Callable[..., None]


@dataclass(frozen=True)
class Ratio:
    """Over the layouts: the median, the least, the most."""

    value: float
    low: float
    high: float


@dataclass
class Samples:
    """Nanoseconds an object, by workload, contender and layout: a figure a round."""

    figures: dict[tuple[str, str], dict[int, dict[int, float]]]

    def contenders(self) -> list[str]:
        """All of them, the baseline and ours first."""
        names = {contender for _, contender in self.figures}
        first = [BASELINE, *sorted(name for name in names if name.startswith(OURS))]
        return [*first, *sorted(names - set(first))]

    def nanoseconds(self, workload: str, contender: str) -> float:
        """The median of all rounds."""
        layouts = self.figures[workload, contender].values()
        return statistics.median(ns for rounds in layouts for ns in rounds.values())

    def ratio(self, workload: str, over: str, under: str = BASELINE) -> Ratio | None:
        """Paired by the process that both ran in."""
        above, below = self.figures.get((workload, over)), self.figures.get((workload, under))
        if above is None or below is None:
            return None
        layouts = []
        for layout, rounds in above.items():
            common = rounds.keys() & below.get(layout, {}).keys()
            if common:
                layouts.append(statistics.median(rounds[n] / below[layout][n] for n in common))
        return Ratio(statistics.median(layouts), min(layouts), max(layouts)) if layouts else None


def run(folder: Path, record: Record, *, rounds: int, quick: bool) -> bool:
    """Runs and prints all; whether every bar was held."""
    programs = sorted(folder.glob("bench-layout-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    if quick:
        programs, rounds = programs[:2], 1
    loads = loadable(programs[0])
    samples = measure(programs, loads, record, everybody=rounds, ours_alone=0 if quick else 3 * rounds)
    print_table(samples)
    held = quick or print_peaks(programs[0], loads, samples.contenders(), record)
    return print_bars(samples, len(programs)) and held


def environment() -> dict[str, str]:
    """A library that is loaded late finds room for its threads' variables only if that is kept free."""
    return {**os.environ, "GLIBC_TUNABLES": "glibc.rtld.optional_static_tls=65536"}


def loadable(program: Path) -> list[str]:
    """The options that load what can be loaded; says what is left out."""
    found = []
    for allocator in catalog.survey():
        if not allocator.name.startswith(LOADED):
            continue
        if not isinstance(allocator, Allocator):
            print(f"bench: {allocator.name} is not installed and is left out ({allocator.install})")
            continue
        option = f"--load={allocator.name}={allocator.library}"
        tried = subprocess.run(
            [str(program), option, "--benchmark_list_tests"],
            env=environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        if tried.returncode == 0:
            found.append(option)
        else:
            print(f"bench: {allocator.name} cannot be loaded and is left out: {tried.stderr.strip()}")
    return found


def measure(
    programs: list[Path], loads: list[str], record: Record, *, everybody: int, ours_alone: int
) -> Samples:
    """Rounds with everybody, and some more of the baseline and ours, whose ratio has to be known best."""
    figures: dict[tuple[str, str], dict[int, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    rng = random.Random(1)
    bars = "|".join(sorted({workload for bars in BARS.values() for workload in bars}))
    rounds: list[tuple[list[str], str]] = [(loads, ".")] * everybody
    rounds += [([], f"^({bars})/({BASELINE}|{'|'.join(BARS)})(/.*)?$")] * ours_alone
    for number, (options, wanted) in enumerate(rounds):
        for layout in rng.sample(range(len(programs)), len(programs)):
            command = [
                str(programs[layout]),
                *options,
                f"--rotate={rng.randrange(1000)}",
                f"--benchmark_filter={wanted}",
                "--benchmark_min_time=0.03",
                "--benchmark_format=json",
            ]
            answer = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
            for each in json.loads(answer.stdout)["benchmarks"]:
                workload, contender = each["name"].split("/")[:2]
                ns = 1e9 / each["items_per_second"]
                figures[workload, contender][layout][number] = ns
                record(round=number, layout=layout, workload=workload, contender=contender, ns=round(ns, 4))
    return Samples(figures)


def print_table(samples: Samples) -> None:
    """Ratios to the baseline; its own row in nanoseconds."""
    print("\nThread CPU time an object (crt: a region of ten; rea: a growth), in bump pointers:\n")
    contenders = samples.contenders()
    width = max(map(len, contenders)) + 2
    print(" " * width + "".join(f"{workload:>9}" for workload in WORKLOADS))
    cells = [f"{samples.nanoseconds(workload, BASELINE):.3g}" for workload in WORKLOADS]
    print(f"{BASELINE + ', ns':<{width}}" + "".join(f"{cell:>9}" for cell in cells))
    for contender in contenders[1:]:
        ratios = [samples.ratio(workload, contender) for workload in WORKLOADS]
        cells = ["-" if ratio is None else f"{ratio.value:.3g}" for ratio in ratios]
        print(f"{contender:<{width}}" + "".join(f"{cell:>9}" for cell in cells))


def print_peaks(program: Path, loads: list[str], contenders: Iterable[str], record: Record) -> bool:
    """How far a turn raises the peak of resident memory, each in a process of its own; whether bars hold."""
    print("\nPeak of resident memory, growth in one turn, MB:\n")
    contenders = list(contenders)
    width = max(map(len, contenders)) + 2
    peaks = {}
    print(" " * width + "".join(f"{workload:>9}" for workload in PEAKS))
    for contender in contenders:
        cells = []
        for workload in PEAKS:
            command = [str(program), *loads, f"--peak={workload}/{contender}"]
            answer = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
            peak = peaks[workload, contender] = int(answer.stdout)
            record(workload=workload, contender=contender, peak_bytes=peak)
            cells.append(f"{peak / 1e6:.3g}")
        print(f"{contender:<{width}}" + "".join(f"{cell:>9}" for cell in cells))
    return print_peak_bars(peaks)


def print_peak_bars(peaks: dict[tuple[str, str], int]) -> bool:
    """Space on mixed sizes beside the bump pointer's, on changing ones beside the best malloc's."""
    print()
    verdicts = []
    for ours, bar in SPACE.items():
        ratio = peaks["a1M", ours] / peaks["a1M", BASELINE]
        verdicts.append(ratio <= bar)
        print(f"a1M    {ours} / {BASELINE}  {ratio:.3f}  {'held' if verdicts[-1] else f'OVER {bar}'}")
    general = [
        name for workload, name in peaks if workload == "phase" and name.startswith(("glibc", *LOADED))
    ]
    best = min(general, key=lambda name: peaks["phase", name])
    ratio = peaks["phase", "Reap"] / peaks["phase", best]
    verdicts.append(ratio <= 1)
    print(f"phase  Reap / {best}, the best malloc  {ratio:.3f}  {'held' if verdicts[-1] else 'OVER 1'}")
    return all(verdicts)


def print_bars(samples: Samples, layouts: int) -> bool:
    """Each bar, and each peer that is faster; whether all were held."""
    print(f"\nBars, median [least, most] of {layouts} code layouts:\n")
    held = True
    for ours, bars in BARS.items():
        for workload, bar in bars.items():
            ratio = samples.ratio(workload, ours)
            if ratio is None:
                continue
            held &= ratio.value <= bar
            near = ratio.low <= bar <= ratio.high
            verdict = ("held" if ratio.value <= bar else f"OVER {bar}") + (
                ", within the noise" if near else ""
            )
            print(f"{workload:<6} {ours} / {BASELINE}  {in_words(ratio)}  {verdict}")
    heaps = [name for name in samples.contenders() if name.startswith("mimalloc") and name.endswith(" heap")]
    for contender in heaps:
        for workload, bar in AHEAD.items():
            ratio = samples.ratio(workload, contender, "Reap")
            if ratio is None:
                continue
            held &= ratio.value >= bar
            verdict = "held" if ratio.value >= bar else f"UNDER {bar}"
            print(f"{workload:<6} {contender} / Reap  {in_words(ratio)}  {verdict}")
    slower = 0
    for contender in samples.contenders():
        if contender.startswith((*OURS, BASELINE)):
            continue
        for workload in BARS["Region"]:
            ratio = samples.ratio(workload, "Region", contender)
            if ratio is None or ratio.value <= 1:
                continue
            sure = ratio.low > 1
            slower += sure
            verdict = "SLOWER" if sure else "inconclusive"
            print(f"{workload:<6} Region / {contender}  {in_words(ratio)}  {verdict}")
    print(f"no slower than any peer: {'held' if slower == 0 else f'NOT on {slower}'}")
    return held and slower == 0


def in_words(ratio: Ratio) -> str:
    """The median, and the range."""
    return f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
