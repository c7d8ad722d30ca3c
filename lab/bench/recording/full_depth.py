"""What full depth costs beside heaptrack, at call depth 20: CPU time in pairs, and bytes an event.

    .venv/bin/python lab/bench/recording/full_depth.py [ROUNDS [TURNS]]

deep.c makes an event about every 30 ns, a malloc or a free, from 64 distinct stacks. The targets are twice
its CPU time and 4.5 bytes an event, 3 compressed. heaptrack, if it is installed, compresses what it writes;
its time is that of the program and of the process that interprets what it writes.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
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
        print(f"{'recorder':<10} {'alone':>9} {'recorded':>9}  ratio [95 % CI]       added  bytes an event")
        trace = folder / "trace.reap"

        def reap() -> float:
            return record(launch, trace, "full", force=True).cpu_ns

        held = row("reap", launch, reap, rounds, events, trace)
        packed = native.compress_file(str(trace)) / events
        print(f"{'':<10} {packed:.2f} bytes an event with --compress", flush=True)
        held = held and packed <= 3
        if (heaptrack := shutil.which("heaptrack")) is not None:
            output = folder / "heaptrack"
            argv = [heaptrack, "--output", str(output), *launch.argv]

            def other() -> float:
                outcome = spawn.run(Launch(argv=argv, program=heaptrack))
                if outcome.status != 0:
                    sys.exit(f"heaptrack failed: {outcome.stderr_tail}")
                return outcome.cpu_ns

            row("heaptrack", launch, other, min(rounds, 3), events, Path(f"{output}.zst"))
    return 0 if held else 1


def row(
    name: str, launch: Launch, recorded: Callable[[], float], rounds: int, events: int, written: Path
) -> bool:
    """Measures one recorder and prints its row; whether it is within the targets."""
    pairs = interleaved(lambda: spawn.run(launch).cpu_ns, recorded, rounds)
    ratio = statistics.interval([b / a for a, b in pairs])
    alone, other = (sorted(side)[len(pairs) // 2] for side in zip(*pairs, strict=True))
    size = written.stat().st_size / events if written.exists() else float("nan")
    print(
        f"{name:<10} {alone / 1e9:>8.3f}s {other / 1e9:>8.3f}s  {ratio.value:.2f} "
        f"[{ratio.low:.2f}, {ratio.high:.2f}]  {(other - alone) / events:>6.1f} ns  {size:.2f}",
        flush=True,
    )
    return ratio.value <= 2 and size <= 4.5


if __name__ == "__main__":
    sys.exit(main())
