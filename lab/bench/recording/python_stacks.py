"""What Python functions in stacks cost: instructions of a large block's allocation and release, by callgrind.

    .venv/bin/python lab/bench/recording/python_stacks.py

CPython makes and drops a bytearray of 5,000 bytes under so many functions: alone, recorded in full depth with
native stacks, and with Python functions. What is before and after the loop falls out.
"""

import re
import subprocess
import sys
import tempfile
from pathlib import Path

from reap import native
from reap.launch import native_files

FEW, MANY = 1000, 5000
PROGRAM = """
def called(depth, turns):
    if depth:
        return called(depth - 1, turns)
    for _ in range(turns):
        bytearray(5000)
called({depth}, {turns})
"""


def instructions(trace: Path, turns: int, depth: int, stacks: str) -> int:
    """Of the whole program."""
    environment = ["PYTHONHASHSEED=0"]
    if stacks != "alone":
        trace.unlink(missing_ok=True)
        native.create_trace(
            str(trace),
            native.FULL,
            native.MONOTONIC_NS,
            native.SAMPLER_NONE,
            0,
            native_only=stacks == "native",
        )
        environment += [f"LD_PRELOAD={native_files.preload('record')}", f"{native.TRACE_ENV}={trace}"]
    valgrind = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", "--trace-children=yes"]
    program = ["/usr/bin/python3", "-S", "-c", PROGRAM.format(depth=depth, turns=turns)]
    done = subprocess.run(
        [*valgrind, "env", *environment, *program], capture_output=True, text=True, check=True
    )
    return int(re.findall(r"Collected : (\d+)", done.stderr)[-1])


def main() -> int:
    """Prints a row for each depth."""
    print("functions     alone    native    Python")
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.reap"
        for depth in (1, 10, 30):
            print(f"{depth + 2:>9}", end="")
            for stacks in ("alone", "native", "Python"):
                few, many = (instructions(trace, turns, depth, stacks) for turns in (FEW, MANY))
                print(f"{(many - few) / (MANY - FEW):>10.0f}", end="", flush=True)
            print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
