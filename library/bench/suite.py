"""The programs of mimalloc-bench: fetched, built, and run. None of it is ours, or shipped.

The repository is taken from the folder that REAP_SOURCES names (mimalloc-bench, or mimalloc-bench.git), else
from the network, once, into build/bench.
"""

import os
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from reap.launch import spawn
from reap.launch.records import Launch

sys.path.insert(0, str(Path(__file__).parents[2] / "lab" / "test"))
import paired

ADDRESS = "https://github.com/daanx/mimalloc-bench"
COMMIT = "ce5784f1cef3d48ddc931479e4899ffad5ab3943"
OLD_C = ["-std=gnu89", "-DNOMEMOPT=1"]


@dataclass(frozen=True)
class Program:
    """A program of the suite, and how it is run there."""

    sources: str
    """A folder's file, or of which target's list in their CMakeLists.txt."""
    arguments: tuple[str, ...] = ()
    flags: list[str] = field(default_factory=list)
    reads: str = ""
    """What it has as standard input."""
    rate: str = ""
    """It runs for a time and prints operations a second, so; else it does a fixed work."""


def _programs(threads: str) -> dict[str, Program]:
    """As bench.sh runs them; what runs for a time does so for three seconds."""
    return {
        "cfrac": Program("cfrac_sources", ("17545186520507317056371138836327483792789528",), OLD_C),
        "espresso": Program("espresso_sources", ("{bench}/espresso/largest.espresso",), OLD_C),
        "barnes": Program("barnes_sources", (), OLD_C, reads="barnes/input"),
        "alloc-test": Program(
            "alloc-test/test_common.cpp alloc-test/allocator_tester.cpp", ("1",), ["-DBENCH=4", "-std=c++17"]
        ),
        "glibc-simple": Program("glibc-bench/bench-malloc-simple.c"),
        "glibc-thread": Program("glibc-bench/bench-malloc-thread.c", (threads,), rate=r"(\d+) iterations"),
        "larson": Program(
            "larson/larson.cpp",
            ("3", "8", "1000", "5000", "100", "4141", threads),
            ["-DCPP=1"],
            rate=r"Throughput = +(\d+)",
        ),
        "xmalloc-test": Program(
            "xmalloc-test/xmalloc-test.c",
            ("-w", threads, "-t", "3", "-s", "64"),
            rate=r"free/sec: ([\d.]+)",
        ),
    }


PROGRAMS = _programs(str(os.cpu_count() or 1))


def fetch(build: Path) -> Path:
    """A checkout of the suite. Throws CalledProcessError where it cannot be had."""
    checkout = build / "mimalloc-bench"
    if not checkout.is_dir():
        folder = Path(os.environ.get("REAP_SOURCES", ""))
        places = [folder / name for name in ("mimalloc-bench", "mimalloc-bench.git")]
        source = next((str(place) for place in places if place.is_dir()), ADDRESS)
        build.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=build) as scratch:
            clone = Path(scratch) / "clone"  # named as the checkout when it is whole
            subprocess.run(["git", "clone", "--quiet", source, str(clone)], check=True)
            subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", COMMIT], check=True)
            clone.rename(checkout)
    return checkout / "bench"


def compile_all(bench: Path, folder: Path) -> None:
    """Builds each program with -O3 into a folder."""
    lists = (bench / "CMakeLists.txt").read_text()
    folder.mkdir(parents=True, exist_ok=True)
    for name, program in PROGRAMS.items():
        sources = program.sources.split()
        if found := re.search(rf"set\({sources[0]}\s([^)]*)\)", lists):
            of = sources[0].removesuffix("_sources")
            sources = [f"{of}/{source}" for source in found[1].split()]
        compiler = "g++" if sources[0].endswith("cpp") else "gcc"
        flags = ["-O3", "-w", "-DNDEBUG", *program.flags, f"-I{bench}"]
        paths = [str(bench / source) for source in sources]
        output = ["-o", str(folder / name), "-lpthread", "-lm"]
        subprocess.run([compiler, *flags, *paths, *output], check=True)


def command(name: str, bench: Path, folder: Path) -> list[str]:
    """How a program is run; one that reads is run by a shell that opens its input."""
    program = PROGRAMS[name]
    words = [str(folder / name), *(word.format(bench=bench) for word in program.arguments)]
    if not program.reads:
        return words
    return ["/bin/sh", "-c", 'exec "$@" <"$0"', str(bench / program.reads), *words]


def _cpu_seconds_at_a_rate(name: str, words: list[str], preloads: list[str]) -> list[float]:
    """Runs a program that works for a time under each preload, all at the same time on all cores.

    CPU seconds for each operation a second that it says: all run as long, so their ratios are those of CPU
    seconds an operation. Operations a second by themselves vary by half between runs beside other processes.
    """
    started = []
    for preload in preloads:
        environment = {**os.environ, **({"LD_PRELOAD": preload} if preload else {})}
        started.append(
            subprocess.Popen(
                words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
            )
        )
    costs = []
    for process in started:
        with process:  # closes its output
            said = process.stdout.read() if process.stdout else ""
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        found = re.search(PROGRAMS[name].rate, said)
        if process.returncode != 0 or not found:
            raise ValueError(f"{name} does not say how many operations a second it did")
        costs.append((usage.ru_utime + usage.ru_stime) / float(found[1]))
    return costs


def costs(name: str, words: list[str], preloads: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """What each round costs under each allocator, after one that does not count.

    All at the same time: of a fixed work CPU seconds on one core, else CPU seconds an operation on all cores.
    """
    costs: dict[str, list[float]] = {each: [] for each in preloads}
    for turn in range(rounds + 1):
        if PROGRAMS[name].rate:
            seconds = _cpu_seconds_at_a_rate(name, words, list(preloads.values()))
        else:
            environments = [{"LD_PRELOAD": preload} if preload else {} for preload in preloads.values()]
            seconds = paired.cpu_seconds(*[words] * len(preloads), environments=environments)
        if turn > 0:
            for each, cost in zip(preloads, seconds, strict=True):
                costs[each].append(cost)
    return costs


def peaks(words: list[str], preloads: dict[str, str], rounds: int) -> dict[str, list[float]]:
    """The most memory of each round under each allocator, in bytes."""
    launches = {
        each: Launch(argv=words, program=words[0], allocator=preload) for each, preload in preloads.items()
    }
    peaks: dict[str, list[float]] = {each: [] for each in preloads}
    for _ in range(rounds):
        for each, launch in launches.items():
            peaks[each].append(spawn.run(launch).peak_resident)
    return peaks


def ratio(runs: list[float], to: list[float]) -> tuple[float, float, float]:
    """The median of the ratios of each round, and the least and the most of them."""
    ratios = sorted(one / other for one, other in zip(runs, to, strict=True))
    return statistics.median(ratios), ratios[0], ratios[-1]
