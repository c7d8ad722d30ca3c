"""What the length of time slices does to a comparison of programs that share a core.

    .venv/bin/python lab/bench/compare/slices.py [--rounds 25] [--hog] [PROGRAM...]

Each round runs glibc and mimalloc one after another, and at the same time on one core with the kernel's
slices and with those of 12 to 50 ms, in random order and on a random core. Prints for each the effect of
mimalloc on CPU time with its 95 % CI. Slices of a process's own take Linux 6.12. Nothing else should run
meanwhile; with --hog another process keeps one core busy half of the time.
"""

import argparse
import ctypes
import math
import os
import platform
import random
import statistics
import struct
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from reap.allocators import catalog

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pairing

SET_ATTRIBUTES = {"x86_64": 314, "aarch64": 274}[platform.machine()]
SLICES = (0, 12, 20, 30, 50)
"""Milliseconds; 0: the kernel's own."""
JSON = "import json\nt = json.dumps([{'a': n} for n in range(4000)])\nfor _ in range(150): json.loads(t)"
BODY = "for (int i = 0; i < x; ++i) y += i * x ^ (y >> 3); return y ? y / 3 : x;"


def programs(folder: Path) -> dict[str, list[str]]:
    """Their commands by name."""
    functions = "".join(f"int f{i}(int x) {{ int y = {i}; {BODY} }}\n" for i in range(300))
    (folder / "program.c").write_text(functions)
    return {
        "gcc": ["gcc", "-O1", "-S", "-o", "/dev/null", str(folder / "program.c")],
        "cpython": ["/usr/bin/python3", "-c", JSON],
    }


def slices_of(milliseconds: int) -> None:
    """The calling process's, from now on. Throws OSError."""
    attributes = struct.pack("IIQiIQQQ", 48, os.SCHED_OTHER, 0, 0, 0, milliseconds * 1_000_000, 0, 0)
    if ctypes.CDLL(None, use_errno=True).syscall(SET_ATTRIBUTES, 0, attributes, 0) != 0:
        raise OSError(ctypes.get_errno(), "sched_setattr")


def start(
    command: Sequence[str],
    environment: Mapping[str, str],
    core: int,
    milliseconds: int,
    gate: tuple[int, int],
) -> int:
    """A process that waits for the end of the pipe `gate`, then becomes the program."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {core})
        if milliseconds:
            slices_of(milliseconds)
        os.close(gate[1])
        os.read(gate[0], 1)
        os.execvpe(command[0], command, environment)  # noqa: S606 - without a shell, as meant
    return pid


def run(
    command: Sequence[str], arms: Sequence[Mapping[str, str]], core: int, milliseconds: int
) -> list[float]:
    """Seconds of CPU time of each arm, all at once."""
    gate = os.pipe()
    started = [start(command, arm, core, milliseconds, gate) for arm in arms]
    for end in gate:
        os.close(end)
    ended = [os.wait4(pid, 0) for pid in started]
    if any(status for _, status, _ in ended):
        raise SystemExit(f"{command[0]} failed")
    return [used.ru_utime + used.ru_stime for _, _, used in ended]


def main() -> None:
    """Prints a row for each program and way."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--hog", action="store_true")
    parser.add_argument("programs", nargs="*", metavar="PROGRAM")
    asked = parser.parse_args()
    base = {**os.environ, "PYTHONMALLOC": "malloc"}
    (other,) = catalog.parse("mimalloc")
    arms = [base, {**base, "LD_PRELOAD": other.library}]
    with tempfile.TemporaryDirectory() as scratch, pairing.hog(quiet=not asked.hog):
        for name, command in programs(Path(scratch)).items():
            if asked.programs and name not in asked.programs:
                continue
            logs: dict[str, list[float]] = defaultdict(list)
            for _ in range(asked.rounds):
                core = random.choice(sorted(os.sched_getaffinity(0)))
                order = random.sample((0, 1), 2)
                alone = {each: run(command, [arms[each]], core, 0)[0] for each in order}
                logs["one after another"].append(math.log(alone[1] / alone[0]))
                for milliseconds in random.sample(SLICES, len(SLICES)):
                    times = dict(
                        zip(
                            order,
                            run(command, [arms[each] for each in order], core, milliseconds),
                            strict=True,
                        )
                    )
                    text = f"slices of {milliseconds} ms" if milliseconds else "the kernel's slices"
                    logs[text].append(math.log(times[1] / times[0]))
            for text, values in sorted(logs.items()):
                half = 1.96 * statistics.stdev(values) / math.sqrt(len(values))
                print(
                    f"{name:10} {text:20} {math.exp(statistics.fmean(values)) - 1:+.2%} ±{half:.2%}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
