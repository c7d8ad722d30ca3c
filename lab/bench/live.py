"""What watching costs the recorded program, and how long a refresh takes.

    .venv/bin/python lab/bench/live.py [ROUNDS]

Two threads that allocate and free 10 M times in all are recorded alone, and watched each second by `reap show
--live` in a process of its own, in turn: ratios of their CPU and wall time. Then CPU time of the refreshes of
their recording in full depth: four a second while it is made, and of the whole of it.
"""

import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from recorder import ROOT, interleaved

from reap.experiment import statistics
from reap.launch import spawn
from reap.launch.records import Launch, Outcome
from reap.recording.record import DEPTHS, Depth, record
from reap.show.live.run import Watched

THREADS = ROOT / "lab" / "test" / "targets" / "threads.c"
TURNS = 2_500_000
"""Of each thread, which allocates and frees once a turn."""


def main() -> int:
    """Prints the ratios, then the refreshes."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 7
    with tempfile.TemporaryDirectory(prefix="reap-bench-", dir=ROOT / "build") as name:
        folder = Path(name)
        program = folder / "threads"
        subprocess.run(["gcc", "-O2", "-fno-builtin", "-pthread", "-w", "-o", program, THREADS], check=True)
        launch = Launch(argv=[str(program), "exchange", "2", str(TURNS)], program=str(program))
        for depth in DEPTHS:
            cost(launch, folder / "trace.reap", depth, rounds)
        refreshes(launch, folder / "whole.reap")
    return 0


def cost(launch: Launch, trace: Path, depth: Depth, rounds: int) -> None:
    """Prints what watching takes of the program."""
    alone: list[Outcome] = []
    watched: list[Outcome] = []

    def first() -> float:
        alone.append(record(launch, trace, depth, force=True))
        return alone[-1].cpu_ns

    def second() -> float:
        watched.append(record(launch, trace, depth, force=True, start=lambda each: beside(each, trace)))
        return watched[-1].cpu_ns

    interleaved(first, second, rounds)
    for what, field in (("CPU", "cpu_ns"), ("wall", "wall_ns")):
        pairs = list(zip(alone[1:], watched[1:], strict=True))
        ratio = statistics.interval([getattr(b, field) / getattr(a, field) for a, b in pairs])
        print(
            f"{depth:<7} {what:<5} watched over alone {ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]"
            f"  {len(pairs)} rounds",
            flush=True,
        )


def beside(launch: Launch, trace: Path) -> Outcome:
    """Runs the program with `reap show --live` beside it."""
    reap = Path(sys.executable).parent / "reap"
    watching = subprocess.Popen([str(reap), "show", "--live", str(trace)], stderr=subprocess.DEVNULL)
    try:
        return spawn.run(launch)
    finally:
        watching.terminate()
        watching.wait()


def refreshes(launch: Launch, trace: Path) -> None:
    """Prints the CPU time of the looks at one recording."""
    made = threading.Event()

    def start(each: Launch) -> Outcome:
        made.set()
        return spawn.run(each)

    recording = threading.Thread(target=lambda: record(launch, trace, "full", start=start))
    recording.start()
    made.wait()
    watched, times = Watched(trace), list[float]()
    while recording.is_alive():
        times.append(timed(watched)[0])
        time.sleep(0.25)
    print(f"while it is made: {len(times)} looks, {spread(times)}")
    watched, times, behind = Watched(trace), [], True
    while behind:
        seconds, behind = timed(watched)
        times.append(seconds)
    print(f"the whole, 10 M events: {sum(times):.2f} s of CPU time in {len(times)} looks, {spread(times)}")
    print(f"where nothing is new: {spread([timed(watched)[0] for _ in range(20)])}")


def timed(watched: Watched) -> tuple[float, bool]:
    """CPU time that one look takes, in seconds, and whether more is waiting."""
    begun = time.thread_time()
    moment = watched.look()
    return time.thread_time() - begun, moment.behind


def spread(times: list[float]) -> str:
    """Their median and maximum."""
    return f"median {sorted(times)[len(times) // 2] * 1000:.1f} ms, maximum {max(times) * 1000:.1f} ms"


if __name__ == "__main__":
    sys.exit(main())
