"""What full depth costs beside other recorders, at call depth 20: CPU time in pairs, and bytes an event.

    .venv/bin/python lab/bench/recording/full_depth.py [ROUNDS [TURNS]]

deep.c makes an event about every 30 ns, a malloc or a free, from 64 distinct stacks. The targets are twice
its CPU time, 4.5 bytes an event, and 3 compressed; with two threads 1.1 times the ratio with one. fresh.c has
a stack that was never met before in every second malloc, which has no target. heaptrack, if it is installed,
compresses what it writes; its time is that of the program and of the process that interprets it.

memray, if it is on the PATH, records Python programs alone: so one calls deep.c there, and once more for reap
and heaptrack. What the interpreter and the tools take for themselves is taken off: the same run with one
turn. With --native it has native stacks, as the others do; without it those of Python, which have one line.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recorder import ROOT, interleaved

from reap import native
from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch
from reap.recording.record import record

BLOCKS = 1000
FLAGS = ["-O2", "-fno-builtin", "-fno-optimize-sibling-calls", "-ftls-model=initial-exec", "-pthread"]
DEEP = Path(__file__).with_name("deep.c")


def main() -> int:
    """Prints a row for each recorder; the exit code says whether reap met its targets."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        deep = folder / "deep"
        fresh = folder / "fresh"
        for program, source in ((deep, DEEP), (fresh, DEEP.with_name("fresh.c"))):
            subprocess.run(["gcc", *FLAGS, "-o", program, source], check=True)
        launch = launch_of(deep, turns)
        events = 2 * turns
        print(f"{'recorder':<27} {'alone':>9} {'recorded':>9}  ratio [95 % CI]       added  bytes an event")
        trace = folder / "trace.reap"

        def reap(name: str, launch: Launch) -> float:
            def alone() -> float:
                return spawn.run(launch).cpu_ns

            def recorded() -> float:
                return record(launch, trace, "full", force=True).cpu_ns

            return row(name, alone, recorded, rounds, events, trace)

        ratio = reap("reap", launch)
        held = ratio <= 2 and trace.stat().st_size / events <= 4.5
        packed = native.compress_file(str(trace)) / events
        print(f"{'':<27} {packed:.2f} bytes an event with --compress", flush=True)
        held = held and packed <= 3
        held = reap("reap, two threads", launch_of(deep, turns, "2")) <= 1.1 * ratio and held
        reap("reap, half of stacks new", launch_of(fresh, turns))
        if (heaptrack := shutil.which("heaptrack")) is not None:
            output = folder / "heaptrack"
            argv = [heaptrack, "--output", str(output), *launch.argv]

            def alone() -> float:
                return spawn.run(launch).cpu_ns

            def other() -> float:
                return cost(argv)

            row("heaptrack", alone, other, min(rounds, 3), events, Path(f"{output}.zst"))
        if (memray := shutil.which("memray")) is not None:
            in_python(folder, memray, heaptrack, turns, min(rounds, 3))
    return 0 if held else 1


def launch_of(program: Path, *words: object) -> Launch:
    """How one of the programs is started: turns, blocks, and what else it is told."""
    turns, *rest = map(str, words)
    return Launch(argv=[str(program), turns, str(BLOCKS), *rest], program=str(program))


def cost(argv: list[str]) -> float:
    """The CPU time of a command, which must succeed."""
    outcome = spawn.run(Launch(argv=argv, program=argv[0]))
    if outcome.status != 0:
        sys.exit(f"{argv[0]} failed: {outcome.stderr_tail}")
    return outcome.cpu_ns


def in_python(folder: Path, memray: str, heaptrack: str | None, turns: int, rounds: int) -> None:
    """The same events within a Python program, for recorders that record no other."""
    library, script, written = folder / "deep.so", folder / "deep.py", folder / "written"
    subprocess.run(["gcc", *FLAGS, "-shared", "-fPIC", "-o", library, DEEP], check=True)
    script.write_text(
        "import ctypes, sys\n"
        f"words = [b'deep', sys.argv[1].encode(), b'{BLOCKS}']\n"
        f"ctypes.CDLL('{library}').main(3, (ctypes.c_char_p * 3)(*words))\n"
    )
    python = str(Path(memray).with_name("python"))
    recorders = {
        "reap": ["reap", "record", "--depth", "full", "-f", "-o", str(written), "--", python],
        "memray": [memray, "run", "-q", "-f", "-o", str(written)],
        "memray --native": [memray, "run", "--native", "-q", "-f", "-o", str(written)],
    }
    recorders["reap"][0] = str(Path(sys.executable).with_name("reap"))
    if heaptrack is not None:
        recorders["heaptrack"] = [heaptrack, "--output", str(written), python]

    def added(words: list[str]) -> float:
        little = cost([*words, str(script), "1"])
        return cost([*words, str(script), str(turns)]) - little  # whose file is kept

    for name, words in recorders.items():
        file = Path(f"{written}.zst") if name == "heaptrack" else written
        row(f"{name}, in Python", partial(added, [python]), partial(added, words), rounds, 2 * turns, file)


def row(
    name: str,
    alone: Callable[[], float],
    recorded: Callable[[], float],
    rounds: int,
    events: int,
    written: Path,
) -> float:
    """Measures one recorder and prints its row; the ratio of its CPU time to the program's."""
    pairs = interleaved(alone, recorded, rounds)
    ratio = statistics.interval([b / a for a, b in pairs])
    bare, other = (sorted(side)[len(pairs) // 2] for side in zip(*pairs, strict=True))
    size = written.stat().st_size / events if written.exists() else float("nan")
    print(
        f"{name:<27} {bare / 1e9:>8.3f}s {other / 1e9:>8.3f}s  {ratio.value:.2f} "
        f"[{ratio.low:.2f}, {ratio.high:.2f}]  {(other - bare) / events:>6.1f} ns  {size:.2f}",
        flush=True,
    )
    return ratio.value


if __name__ == "__main__":
    sys.exit(main())
