"""The library beside its peers: builds library/bench, runs it, prints tables and what became of the bars.

    .venv/bin/python library/bench/run.py [--quick] [--only PART] [--rounds N] [--results FILE]

A part is workloads, blocks, threads or containers. Every figure but those of the containers is appended to
the results (build/bench/library.jsonl), a JSON object a line, as it comes. --quick takes under a minute and
says little; without it, half an hour.
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import blocks
import threads

import workloads

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
PARTS = ("workloads", "blocks", "threads", "containers")


def main() -> int:
    """Prints the tables; the exit code says whether every bar was held."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="under a minute, and noisy")
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--rounds", type=int, default=5, help="of each code layout, or runs of the others")
    parser.add_argument("--results", type=Path, default=BUILD / "library.jsonl")
    options = parser.parse_args()
    parts = [options.only] if options.only else PARTS
    build()
    held = True
    folder = BUILD / "library" / "bench"
    with options.results.open("a") as file:

        def record(**figure: object) -> None:
            json.dump({"at": round(time.time()), **figure}, file)
            file.write("\n")
            file.flush()

        if "workloads" in parts:
            held &= workloads.run(folder, record, rounds=options.rounds, quick=options.quick)
        if "blocks" in parts:
            held &= blocks.run(folder, record, runs=options.rounds, quick=options.quick)
        if "threads" in parts:
            held &= threads.run(folder, record, processes=options.rounds, quick=options.quick)
    if "containers" in parts:
        print("\nContainers on reaps of granule 8 and 16:\n", flush=True)
        rounds = "3" if options.quick else "21"
        subprocess.run([folder / "bench-containers", rounds], check=True)
    return 0 if held else 1


def build() -> None:
    """Configures and builds; says which peers were left out."""
    configured = subprocess.run(
        ["cmake", "--preset", "bench"], cwd=ROOT, check=True, capture_output=True, text=True
    )
    for line in configured.stdout.splitlines():
        if "bench:" in line:
            print(line.removeprefix("-- "))
    subprocess.run(["cmake", "--build", "--preset", "bench"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
