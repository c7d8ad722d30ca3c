"""Whether peak memory is the truth: what a run reports against what the program knows. The bar is 1 MB.

.venv/bin/python lab/bench/peak.py

The program touches a known amount of memory and prints its own VmHWM at its end. It is run from a Python that
holds 300 MB, whose size must not show.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from reap.launch import spawn
from reap.launch.records import Launch

PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
    size_t bytes = strtoull(argv[1], NULL, 10) << 20;
    char *block = malloc(bytes + 1);
    memset(block, 1, bytes + 1);
    char line[256];
    FILE *status = fopen("/proc/self/status", "r"), *out = fopen(argv[2], "w");
    while (fgets(line, sizeof line, status))
        if (strncmp(line, "VmHWM:", 6) == 0) fputs(line + 6, out);
    fclose(out);
    return block[bytes] != 1 || argc < 3;
}
"""


def main() -> int:
    """Prints a row for each size; the exit code says whether the bar was held."""
    ballast = bytearray(300 << 20)
    worst = 0.0
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as name:
        folder = Path(name)
        (folder / "peak.c").write_text(PROGRAM)
        program = folder / "peak"
        subprocess.run(["gcc", "-O1", "-o", program, folder / "peak.c"], check=True)
        print(f"{'touched':>10} {'own peak':>10} {'reported':>10} {'error':>9}")
        for touched in (0, 1, 10, 100, 500):
            truth_file = folder / "truth"
            launch = Launch(argv=[str(program), str(touched), str(truth_file)], program=str(program))
            reported = spawn.run(launch).peak_resident / 1024
            truth = float(truth_file.read_text().split()[0])
            worst = max(worst, abs(reported - truth))
            error = reported - truth
            print(f"{touched:>6} MiB {truth:>6.0f} KiB {reported:>6.0f} KiB {error:>+5.0f} KiB")
    print(f"worst {worst:.0f} KiB; this Python held {len(ballast) >> 20} MiB")
    return 0 if worst <= 1024 else 1


if __name__ == "__main__":
    sys.exit(main())
