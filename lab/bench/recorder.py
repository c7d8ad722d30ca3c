"""What recording costs: CPU time recorded in triage over CPU time alone, in pairs, interleaved.

    .venv/bin/python lab/bench/recorder.py [ROUNDS [WORD...]]    those whose name has one of the words

On six real programs, whose bar is 1.05, on a loop that does nothing but malloc and free, whose bar is 1.3,
and on a program that does nothing but fork, or begin threads, whose bar is 1.5. In full depth perl, gcc and
CPython, whose bar is 1.15, and the loop, which has none. On a busy machine start it by `chrt -f 1`.
"""

import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from reap.base.errors import ReapError
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch
from reap.recording.record import Depth, record
from reap_studies.workloads import preparation

ROOT = Path(__file__).resolve().parents[2]
LOOP = ROOT / "lab" / "preload" / "test" / "malloc_loop.c"
JSON = """
import json
rows = [{"name": f"row {i}", "values": list(range(i % 40))} for i in range(20000)]
for _ in range(3):
    assert json.loads(json.dumps(rows)) == rows
"""
"""A program for CPython, whose pymalloc serves its small objects."""
AWK = (
    "BEGIN { for (i = 0; i < 2000000; i++) a[i % 9973] = a[i % 9973] i % 7; for (k in a) n += length(a[k]) }"
)
SQL = (
    "create table t(a integer primary key, b text); "
    "with recursive n(i) as (select 1 union all select i + 1 from n where i < 400000) "
    "insert into t select i, printf('%d-%d', i, i * 7919 % 1009) from n; create index u on t(b);"
)
GCC = "gcc -O1 sqlite3.c"
PROCESSES = ROOT / "lab" / "test" / "targets" / "processes.c"


def main() -> int:
    """Prints a row for each program; the exit code says whether every bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    words = sys.argv[2:] or [""]
    held = True
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        loop = folder / "malloc-loop"
        processes = folder / "processes"
        for program, source in ((loop, LOOP), (processes, PROCESSES)):
            subprocess.run(
                ["gcc", "-O2", "-fno-builtin", "-pthread", "-w", "-o", program, source], check=True
            )
        print(f"{'program':<24} {'depth':<7} {'alone':>9} {'recorded':>9}  ratio [95 % CI]        rounds")
        for title, launch, depth, bar, many in programs(loop, processes, words):
            held &= row(title, launch, depth, bar, max(many or rounds, 5), folder / "trace.reap")
    return 0 if held else 1


def programs(loop: Path, processes: Path, words: list[str]) -> list[tuple[str, Launch, Depth, float, int]]:
    """What is measured: title, launch, depth, bar, rounds (0: as many as were asked for)."""

    def asked(title: str) -> bool:
        return any(word in title for word in words)

    found: list[tuple[str, Launch, Depth, float, int]] = []
    for name, launch in real_programs(JSON):
        found.append((name, launch, "triage", 1.05, 0))
        if name in ("perl", "gcc", "python3"):
            found.append((f"{name}, full", launch, "full", 1.15, 0))
    if asked(GCC):
        gcc = [Launch(argv=argv, program=argv[0]) for name, argv in compilers().items() if name == GCC]
        found += [(f"{GCC}, full", launch, "full", 1.15, 5) for launch in gcc]
    only = Launch(argv=[str(loop), "50000000"], program=str(loop))
    found.append(("malloc and free alone", only, "triage", 1.3, 0))
    little = Launch(argv=[str(loop), "300000"], program=str(loop))
    found.append(("malloc and free alone", little, "full", float("inf"), 5))
    for what, mode in (
        ("200 forks", ["tiny", "200"]),
        ("200 forks, 2 KB each", ["quick", "200"]),
        ("2,000 threads, 2 KB each", ["beside", "2000"]),
    ):
        launch = Launch(argv=[str(processes), *mode], program=str(processes))
        found.append((what, launch, "triage", 1.5, 0))
    return [row for row in found if asked(row[0])]


def real_programs(python: str) -> list[tuple[str, Launch]]:
    """The demo's programs, CPython with a program, gawk and SQLite."""
    small = {
        "python3": ["/usr/bin/python3", "-c", python],
        "gawk": ["/usr/bin/gawk", AWK],
        "sqlite3": ["/usr/bin/sqlite3", ":memory:", SQL],
    }
    fixed = {"PYTHONHASHSEED": "0"}
    return [
        *((name, demo(name)) for name in ("perl", "gcc", "sed")),
        *((name, Launch(argv=argv, program=argv[0], environment=fixed)) for name, argv in small.items()),
    ]


def compilers() -> dict[str, list[str]]:
    """Two compilers on SQLite as one file, which the workload clang has; none where it was not made."""
    try:
        source = preparation.prepare("clang", "custom").argv[-1]
    except ReapError as error:
        print(f"compilers on sqlite3.c: not measured: {error}; {error.hint}")
        return {}
    words = ["-w", "-S", "-o", "/dev/null", source]
    return {
        GCC: ["/usr/bin/gcc", "-O1", *words],
        "clang -O0 sqlite3.c": ["/usr/bin/clang-19", "-O0", *words],
    }


def demo(name: str) -> Launch:
    """A program of the demo."""
    ready = preparation.prepare(name)
    return Launch(
        argv=ready.argv,
        program=card_program(ready.argv[0]),
        directory=ready.directory,
        environment=ready.environment,
    )


def card_program(name: str) -> str:
    """The file that the shell would run."""
    from reap.launch import program

    return program.resolve([name]).path


def row(title: str, launch: Launch, depth: Depth, bar: float, rounds: int, trace: Path) -> bool:
    """Measures one program and prints its row."""

    def alone() -> float:
        return spawn.run(launch).cpu_ns

    def recorded() -> float:
        return record(launch, trace, depth, force=True).cpu_ns

    pairs = interleaved(alone, recorded, rounds)
    estimate = statistics.interval([b / a for a, b in pairs])
    first, second = (sorted(side)[len(pairs) // 2] / 1e9 for side in zip(*pairs, strict=True))
    verdict = "" if bar == float("inf") else ("held" if estimate.value <= bar else f"OVER {bar}")
    print(
        f"{title:<24} {depth:<7} {first:>8.3f}s {second:>8.3f}s  {estimate.value:.3f} "
        f"[{estimate.low:.3f}, {estimate.high:.3f}]  {len(pairs):>4}  {verdict}",
        flush=True,
    )
    return estimate.value <= bar


def together(*actions: Callable[[], float]) -> list[float]:
    """Figures of actions that run programs, all at the same time on one core.

    What disturbs one, such as another process or a change of frequency, disturbs the others as much: runs one
    after another differ five to ten times more. Not for what paces itself by the clock, as triage does.
    """
    core = random.choice(sorted(os.sched_getaffinity(0)))
    ready = threading.Barrier(len(actions))

    def held(action: Callable[[], float]) -> float:
        os.sched_setaffinity(0, {core})  # of this thread, and of what it starts
        ready.wait()
        return action()

    with ThreadPoolExecutor(len(actions)) as pool:
        return list(pool.map(held, actions))


def paired(first: Callable[[], float], second: Callable[[], float], rounds: int) -> list[tuple[float, float]]:
    """Pairs of figures of two that run together; one pair before it counts."""
    together(first, second)
    return [(a, b) for a, b in (together(first, second) for _ in range(rounds))]


def interleaved(
    first: Callable[[], float], second: Callable[[], float], rounds: int
) -> list[tuple[float, float]]:
    """Pairs of figures, which one goes first changing every round; one of each before it counts."""
    first(), second()
    pairs = []
    for number in range(rounds):
        if number % 2 == 0:
            a = first()
            b = second()
        else:
            b = second()
            a = first()
        pairs.append((a, b))
    return pairs


if __name__ == "__main__":
    sys.exit(main())
