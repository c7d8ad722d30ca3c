"""What gains: each program of the truth suite's `known` under other allocators, settings and as its twin.

.venv/bin/python lab/bench/compare/gains.py [--pairs 5] [--scale 1] [--only NAME,...] [--keep]

Runs the arms interleaved, each paired with the baseline of its turn. Ends with a table, a part of which is in
docs/accuracy.md: the change of CPU time, or of elapsed time where threads wait, in the median of the pairs.
`--keep` writes the lowest, middle and highest to measured.toml beside the cases. The exit code is 1 if a
program's output or `gain` is not as its truth says.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).parents[2] / "test" / "truth"))

import known
from known.records import MATTERS, MEASURED, Arm

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.launch import native_files
from reap.launch.linked import redirect

SETTINGS: dict[Arm, str] = {
    "tcache_count": "glibc.malloc.tcache_count=1000",
    "keep": f"glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold={2**64 - 1}",
}
TITLES: dict[Arm, str] = {
    "mimalloc": "mimalloc",
    "jemalloc": "jemalloc",
    "tcmalloc": "tcmalloc",
    "tcache_count": "larger thread caches",
    "keep": "memory kept",
    "twin": "twin",
}
Changes = dict[Arm, tuple[float, float, float]]


def arms() -> dict[Arm, dict[str, str]]:
    """The environment of each arm but the twin; throws where an allocator is not installed."""
    found: dict[Arm, dict[str, str]] = {}
    for name in ("mimalloc", "jemalloc", "tcmalloc"):
        allocator = catalog.find(name)
        if not isinstance(allocator, Allocator):
            raise SystemExit(f"{name} is not installed: see `reap allocators`")
        found[name] = {"LD_PRELOAD": allocator.library}
    return found | {name: {"GLIBC_TUNABLES": value} for name, value in SETTINGS.items()}


def run(words: list[str], environment: dict[str, str]) -> tuple[float, float, bytes]:
    """CPU time and elapsed time in seconds, and the output; a linked allocator stands aside for a preload."""
    library = environment.get("LD_PRELOAD")
    aside = redirect.find(words[0]) if library else None
    if library and aside:
        preloads = f"{library}:{native_files.preload('redirect')}"
        environment = {**environment, "LD_PRELOAD": preloads, **aside.variables(library)}
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(words, env={**os.environ, **environment}, stdout=subprocess.PIPE, check=True)
    elapsed, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, elapsed, done.stdout


def measure(case: known.Known, pairs: int, scale: float) -> tuple[Changes, bool]:
    """The change under each arm, and whether all printed the same."""
    at = 0 if case.truth.metric == "cpu" else 1
    changes: dict[Arm, list[float]] = {}
    outputs = set()
    for _ in range(pairs):
        base = run(known.command(case, scale), {})
        outputs.add(base[2])
        tried = {name: run(known.command(case, scale), environment) for name, environment in arms().items()}
        tried["twin"] = run(known.command(case, scale, cured=True), {})
        for name, result in tried.items():
            outputs.add(result[2])
            changes.setdefault(name, []).append(result[at] / base[at] - 1)
    return {
        name: (min(values), statistics.median(values), max(values)) for name, values in changes.items()
    }, len(outputs) == 1


def agrees(case: known.Known, changes: Changes) -> bool:
    """Whether the pairs do not contradict what the case says of a gain."""
    if case.truth.gain is None:
        return True
    middle = min(values[1] for name, values in changes.items() if name != "twin")
    return case.truth.gain == (middle <= -MATTERS)


def main() -> int:
    """Measures, prints the table, and keeps it if asked."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--only", default="", help="Names of cases, with commas.")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--scale", type=float, default=1)
    given = parser.parse_args()
    names = [*filter(None, given.only.split(","))]
    kept = dict(known.measured())
    wrong = False
    for case in known.CASES:
        if names and case.name not in names:
            continue
        kept[case.name], same = measure(case, given.pairs, given.scale)
        fits = same and agrees(case, kept[case.name])
        wrong |= not fits
        print(f"{'' if fits else 'DIFFERS: '}{row(case, kept[case.name])}", file=sys.stderr, flush=True)
    kept = {case.name: kept[case.name] for case in known.CASES if case.name in kept}
    if given.keep:
        keep(kept)
    print(f"| program | fault | report | {' | '.join(TITLES.values())} |\n|{'---|' * (3 + len(TITLES))}")
    for case in known.CASES:
        if case.name in kept:
            print(row(case, kept[case.name]))
    return int(wrong)


def row(case: known.Known, changes: Changes) -> str:
    """A line of the table."""
    name = f"{case.name}{', held out' if case.held_out else ''}"
    shown = " | ".join(f"{100 * changes[arm][1]:+.0f} %" for arm in TITLES)
    return f"| {name} | {case.fault} | {case.report} | {shown} |"


def keep(kept: dict[str, Changes]) -> None:
    """Writes them to measured.toml."""
    lines = ["# Lowest, middle and highest change of pairs; by lab/bench/compare/gains.py --keep.\n"]
    for name, changes in kept.items():
        lines.append(f"\n[{name}]\n")
        lines += [
            f"{arm} = [{', '.join(f'{value:.2f}' for value in values)}]\n" for arm, values in changes.items()
        ]
    MEASURED.write_text("".join(lines))


if __name__ == "__main__":
    sys.exit(main())
