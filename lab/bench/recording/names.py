"""What it takes to keep the names of a recording's stacks when it ends: CPU time.

    .venv/bin/python lab/bench/recording/names.py [FUNCTIONS]

A program with debug information that has FUNCTIONS (default 2500) functions of 40 calls of malloc each is
recorded in full depth, each call from ten places: a million stacks of a hundred thousand addresses. Exits
with 1 where their names take more than 2 s.
"""

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from reap import native
from reap.launch import native_files
from reap.launch.records import Launch
from reap.recording import record

CALLS, CALLERS, LIMIT = 40, 10, 2.0


def cpu_seconds() -> float:
    """CPU time of this process and of those that it has waited for, as its sandboxes."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def source(functions: int) -> str:
    """The program: every function is called from each of the callers' lines."""
    lines = ["#include <stdlib.h>", "static void *volatile kept;"]
    for function in range(functions):
        lines.append(f"static void f{function}(void) {{")
        lines += ["    kept = malloc(8); free(kept);"] * CALLS
        lines.append("}")
    lines.append("static void (*const all[])(void) = {")
    lines += [f"    f{function}," for function in range(functions)]
    lines.append("};")
    lines.append(f"int main(void) {{ for (int at = 0; at < {functions}; ++at) {{")
    lines += ["    all[at]();"] * CALLERS
    lines.append("} return 0; }")
    return "\n".join(lines)


def main() -> int:
    """Prints the figures."""
    functions = int(sys.argv[1]) if len(sys.argv) > 1 else 2500
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program, path = folder / "program", folder / "stacks.reap"
        command = ["gcc", "-O0", "-g", "-x", "c", "-", "-o", str(program)]
        subprocess.run(command, input=source(functions).encode(), check=True)
        record.record(Launch(argv=[str(program)], program=str(program)), path, "full", names=False)
        bare = path.stat().st_size
        before = cpu_seconds()
        kept = native.keep_names(str(path), native_files.preload("record").name)
        seconds = cpu_seconds() - before
        stacks = functions * CALLS * CALLERS
        print(f"{stacks} stacks, {kept.addresses} addresses: {seconds:.2f} s of CPU time for their names,")
        print(f"{path.stat().st_size - bare} bytes of {path.stat().st_size}")
        before = time.process_time()
        read = native.Recording(str(path), native_files.preload("record").name)
        read.calls(0.0)
        print(f"reading them all: {time.process_time() - before:.2f} s of CPU time")
    return 0 if seconds <= LIMIT else 1


if __name__ == "__main__":
    sys.exit(main())
