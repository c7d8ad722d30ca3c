"""What full depth costs beside other recorders, at call depth 20: CPU time in pairs, and bytes an event.

    .venv/bin/python lab/bench/recording/full_depth.py [ROUNDS [TURNS]]

deep.c makes an event about every 30 ns, a malloc or a free, from 64 distinct stacks. The targets are twice
its CPU time, 4.5 bytes an event, and 3 compressed. heaptrack, if it is installed, compresses what it writes;
its time is that of the program and of the process that interprets what it writes.

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
DEEP = Path(__file__).with_name("deep.c")


def main() -> int:
    """Prints a row for each recorder; the exit code says whether reap met its targets."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else 2_000_000
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        deep = folder / "deep"
        flags = ["-O2", "-fno-builtin", "-fno-optimize-sibling-calls"]
        subprocess.run(["gcc", *flags, "-o", deep, DEEP], check=True)
        launch = Launch(argv=[str(deep), str(turns), str(BLOCKS)], program=str(deep))
        events = 2 * turns
        print(f"{'recorder':<19} {'alone':>9} {'recorded':>9}  ratio [95 % CI]       added  bytes an event")
        trace = folder / "trace.reap"

        def alone() -> float:
            return spawn.run(launch).cpu_ns

        def reap() -> float:
            return record(launch, trace, "full", force=True).cpu_ns

        held = row("reap", alone, reap, rounds, events, trace)
        packed = native.compress_file(str(trace)) / events
        print(f"{'':<19} {packed:.2f} bytes an event with --compress", flush=True)
        held = held and packed <= 3
        if (heaptrack := shutil.which("heaptrack")) is not None:
            output = folder / "heaptrack"
            argv = [heaptrack, "--output", str(output), *launch.argv]

            def other() -> float:
                return cost(argv)

            row("heaptrack", alone, other, min(rounds, 3), events, Path(f"{output}.zst"))
        if (memray := shutil.which("memray")) is not None:
            in_python(folder, memray, heaptrack, turns, min(rounds, 3))
    return 0 if held else 1


def cost(argv: list[str]) -> float:
    """The CPU time of a command, which must succeed."""
    outcome = spawn.run(Launch(argv=argv, program=argv[0]))
    if outcome.status != 0:
        sys.exit(f"{argv[0]} failed: {outcome.stderr_tail}")
    return outcome.cpu_ns


def in_python(folder: Path, memray: str, heaptrack: str | None, turns: int, rounds: int) -> None:
    """The same events within a Python program, for recorders that record no other."""
    library, script, written = folder / "deep.so", folder / "deep.py", folder / "written"
    flags = ["-O2", "-fno-builtin", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, "-o", library, DEEP], check=True)
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
        return cost([*words, str(script), str(turns)]) - cost([*words, str(script), "1"])

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
) -> bool:
    """Measures one recorder and prints its row; whether it is within the targets."""
    pairs = interleaved(alone, recorded, rounds)
    ratio = statistics.interval([b / a for a, b in pairs])
    bare, other = (sorted(side)[len(pairs) // 2] for side in zip(*pairs, strict=True))
    size = written.stat().st_size / events if written.exists() else float("nan")
    print(
        f"{name:<19} {bare / 1e9:>8.3f}s {other / 1e9:>8.3f}s  {ratio.value:.2f} "
        f"[{ratio.low:.2f}, {ratio.high:.2f}]  {(other - bare) / events:>6.1f} ns  {size:.2f}",
        flush=True,
    )
    return ratio.value <= 2 and size <= 4.5


if __name__ == "__main__":
    sys.exit(main())
