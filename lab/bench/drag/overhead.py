"""What the exact drag engine costs, beside Valgrind's other tools: CPU time over that of the program alone.

    .venv/bin/python lab/bench/drag/overhead.py [ROUNDS]

The bars: at most 10 times on C++ programs and 20 times on interpreters; and beyond what Valgrind itself needs
(its tool `none`), at most 3 times the program's live bytes of memory. Every round runs the program alone and
under the engine, together on one core. Under Valgrind's own tools, some of which take a hundred times as
long, it runs once each, beside a run of the program alone. Python's own allocator maps its arenas, whose
bytes no malloc sees: that row has no bar of memory. The rows of memory alone are programs of nothing but
blocks of one size, or but objects of a pool.

Below stand the other engines: the recompiled one, at most 2.5 times; and sampling, at most 1.05 times on
runs of over 8 s, where the interval may say that this cannot be told, and drag within 10 % of the exact
engine's at 2,000 samples.
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import msgspec

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recorder import ROOT, interleaved, paired

from reap.drag.exact import launch as drag
from reap.drag.exact import recompiled as drag_recompiled
from reap.drag.exact import valgrind
from reap.drag.exact.analyse import profile
from reap.drag.exact.read import read_all
from reap.drag.sample import run
from reap.drag.sample.analyse import process as sampled_process
from reap.drag.sample.read import read as read_samples
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch, Outcome

PYTHON = r"""
import json
rows = [{"id": i, "name": "n%d" % i, "v": [i * 0.5, i, None, True], "sub": {"a": i, "b": "x" * (i % 20)}}
        for i in range(12000)]
for _ in range(2):
    json.loads(json.dumps(rows, indent=1)); json.loads(json.dumps(rows))
"""
PERL = (
    r'for my $n (1..4) { my %h; $h{$_ % 9973} .= "$_," for 1..300000; my @s = sort map { length } values %h }'
)
COMPILERS = ("g++", "clang++-19")
OTHERS = ("none", "memcheck", "dhat")
SIZES = (16, 24, 32, 64, 512, 4000)
IN_USE = 40 << 20
"""Bytes of blocks of one size."""


def main() -> int:
    """Prints a row for each program; the exit code says whether every bar was held."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    engine = valgrind.ready(print)
    print(f"{'program':<24} {'alone':>8} {'drag [95 % CI]':>24} ", end="")
    print("".join(f"{name:>10}" for name in OTHERS) + f" {'memory':>8}")
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as folder:
        trees = str(Path(folder) / "trees")
        subprocess.run(
            ["g++", "-std=c++20", "-O2", "-o", trees, Path(__file__).with_name("trees.cpp")], check=True
        )
        malloc = {"PYTHONMALLOC": "malloc"}
        held = [
            row(title, Launch(argv=argv, program=argv[0], environment=more), engine, rounds, bar, memory_bar)
            for title, bar, memory_bar, argv, more in (
                ("C++ trees and strings", 10.0, 3.0, [trees], {}),
                ("perl", 20.0, 3.0, ["/usr/bin/perl", "-e", PERL], {}),
                ("python json", 20.0, float("inf"), ["/usr/bin/python3", "-c", PYTHON], {}),
                ("python json, malloc", 20.0, 3.0, ["/usr/bin/python3", "-c", PYTHON], malloc),
            )
        ]
        blocks = str(Path(folder) / "blocks")
        source = Path(__file__).with_name("blocks.c")
        subprocess.run(["gcc", "-O1", "-fno-builtin", "-o", blocks, source], check=True)
        held += [memory(blocks, size, where, engine) for where in ("malloc", "pool") for size in SIZES]
        held += [
            *(recompiled(each, Path(folder), rounds) for each in COMPILERS if shutil.which(each)),
            sampling_cost("perl", perl, rounds),
            sampling_cost("C++", lambda times: Launch(argv=[trees, str(times)], program=trees), rounds),
            sampling_result(trees, engine),
        ]
    return 0 if all(held) else 1


def ratio(title: str, pairs: list[tuple[float, float]], bar: float) -> bool:
    """Prints a row of CPU time over that of the program alone."""
    found = statistics.interval([b / a for a, b in pairs])
    alone = sorted(first for first, _ in pairs)[len(pairs) // 2] / 1e9
    held = "held" if found.value <= bar else f"OVER {bar:g}"
    figures = f"{found.value:>9.2f} [{found.low:.2f}, {found.high:.2f}]"
    print(f"{title:<24} {alone:>7.2f}s {figures}  {held}", flush=True)
    return found.value <= bar


def recompiled(compiler: str, folder: Path, rounds: int) -> bool:
    """The C++ program as reap-drag-c++ builds it, beside what its compiler makes of it alone."""
    plain, built = str(folder / "plain"), str(folder / "recompiled")
    wrapper = str(Path(sys.executable).parent / "reap-drag-c++")
    for words in ([compiler, "-o", plain], [wrapper, "-o", built]):
        subprocess.run(
            [*words, "-std=c++20", "-O2", Path(__file__).with_name("trees.cpp")],
            check=True,
            env={**os.environ, "REAP_CXX": compiler},
        )
    alone = Launch(argv=[plain], program=plain)

    def dragged() -> float:
        with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
            return drag_recompiled.run(Launch(argv=[built], program=built), Path(name)).cpu_ns

    pairs = paired(lambda: spawn.run(alone).cpu_ns, dragged, rounds)
    return ratio(f"recompiled, {compiler}", pairs, 2.5)


def perl(times: int) -> Launch:
    """The program, so many times over."""
    program = "/usr/bin/perl"
    return Launch(argv=[program, "-e", PERL.replace("1..4", f"1..{4 * times}")], program=program)


def sampling_cost(title: str, repeated: Callable[[int], Launch], rounds: int) -> bool:
    """Runs of over 8 s with the sampler's own choice of samples: over the bar only where the interval is."""
    bar, wanted = 1.05, 10e9
    short = min(spawn.run(repeated(2)).cpu_ns for _ in range(5)) / 2
    launch = repeated(math.ceil(wanted / short))
    accounts: list[float] = []

    def dragged() -> float:
        with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
            cpu = run.run(launch, Path(name)).cpu_ns
            (file,) = [read_samples(path) for path in Path(name).glob(run.FILES)]
            accounts.append(file.seconds * 1e9 / cpu)
            return cpu

    pairs = interleaved(lambda: spawn.run(launch).cpu_ns, dragged, rounds)
    found = statistics.interval([b / a for a, b in pairs])
    alone = min(first for first, _ in pairs) / 1e9
    verdict = "held" if found.high <= bar else f"OVER {bar:g}" if found.low > bar else "inconclusive"
    print(
        f"{'sampling, ' + title:<24} {alone:>7.2f}s {found.value:>9.3f} [{found.low:.3f}, {found.high:.3f}]  "
        f"{verdict}; its own account: {max(accounts):.1%}",
        flush=True,
    )
    return found.low <= bar


def sampling_result(trees: str, engine: Path) -> bool:
    """Drag by some 2,000 samples beside the exact one."""
    launch = Launch(argv=[trees], program=trees)
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        outcome = drag.run(launch, engine, Path(name), depth=12)
        exact = profile(
            read_all(Path(name), drag.RECORDINGS, []), launch.argv, status=outcome.status, notes=[]
        )
    level = exact.processes[0].levels[0]
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        run.run(launch, Path(name), period=level.total.bytes // 2000)
        (file,) = [read_samples(path) for path in Path(name).glob(run.FILES)]
    sampled = sampled_process(file)
    if sampled.drag is None:
        print("sampling, C++: inconclusive")
        return False
    held = abs(sampled.drag.value / level.drag - 1) <= 0.1
    print(
        f"sampling, C++: drag {sampled.drag.value:.3f} [{sampled.drag.low:.3f}, {sampled.drag.high:.3f}] by "
        f"{sampled.samples} samples, exact {level.drag:.3f}  {'held' if held else 'OVER 10 %'}",
        flush=True,
    )
    return held


def row(title: str, launch: Launch, engine: Path, rounds: int, bar: float, memory_bar: float) -> bool:
    """Measures one program and prints its row."""
    live = 0
    engines: list[Outcome] = []

    def dragged() -> float:
        nonlocal live
        outcome, live = under_drag(launch, engine)
        engines.append(outcome)
        return outcome.cpu_ns

    pairs = paired(lambda: spawn.run(launch).cpu_ns, dragged, rounds)
    others = {name: (spawn.run(launch), spawn.run(under(launch, name))) for name in OTHERS}
    ratios = {name: second.cpu_ns / first.cpu_ns for name, (first, second) in others.items()}
    needed = (max(each.peak_resident for each in engines) - others["none"][1].peak_resident) / live
    alone = sorted(first for first, _ in pairs)[len(pairs) // 2]
    found = statistics.interval([b / a for a, b in pairs])
    good = found.value <= bar and needed <= memory_bar
    print(
        f"{title:<24} {alone / 1e9:>7.2f}s "
        f"{found.value:>9.1f} [{found.low:.1f}, {found.high:.1f}]  "
        + "".join(f"{ratios[name]:>10.1f}" for name in OTHERS)
        + f" {needed:>7.1f}x  {'held' if good else f'OVER {bar:g} or {memory_bar:g}'}",
        flush=True,
    )
    return good


def memory(program: str, size: int, where: str, engine: Path) -> bool:
    """Prints what its live bytes take of memory under the engine, beyond what `none` needs."""
    words = [str(size), str(IN_USE // size), *(["pool"] if where == "pool" else [])]
    launch = Launch(argv=[program, *words], program=program)
    outcome, live = under_drag(launch, engine)
    found = (outcome.peak_resident - spawn.run(under(launch, "none")).peak_resident) / live
    print(
        f"{where + f', {size} bytes':<24} memory {found:.1f}x  {'held' if found <= 3 else 'OVER 3'}",
        flush=True,
    )
    return found <= 3


def under(launch: Launch, tool: str) -> Launch:
    """The program under one of Valgrind's own tools."""
    words = ["valgrind", f"--tool={tool}", "--quiet", "--log-file=/dev/null", "--vgdb=no"]
    words += ["--dhat-out-file=/dev/null"] if tool == "dhat" else []
    return msgspec.structs.replace(
        launch, program="/usr/bin/valgrind", argv=[*words, launch.program, *launch.argv[1:]]
    )


def under_drag(launch: Launch, engine: Path) -> tuple[Outcome, int]:
    """The program under our engine, and its live bytes at their peak."""
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        outcome = drag.run(launch, engine, Path(name), depth=12)
        recordings = read_all(Path(name), drag.RECORDINGS, drag.complaints(Path(name)))
        result = profile(recordings, launch.argv, status=outcome.status, notes=[])
    return outcome, result.processes[0].levels[0].peak


if __name__ == "__main__":
    sys.exit(main())
