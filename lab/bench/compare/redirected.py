"""What mimalloc takes in place of a linked jemalloc by jumps, and built in: parts of the program's CPU time.

.venv/bin/python lab/bench/compare/redirected.py [--pairs 15]

Runs the program as it is, with jumps, and built with mimalloc in turn. Needs libjemalloc-dev and mimalloc.
"""

import argparse
import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "test"))

from causes import Linked, known_program

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.launch import spawn
from reap.launch.records import Launch

MODES: dict[str, Linked] = {
    "pool": "jemalloc",
    "fields": "prefixed",
    "ledger": "jemalloc",
    "passes": "jemalloc",
}


def main() -> None:
    """Prints a row for each program."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=15)
    pairs = parser.parse_args().pairs
    other = catalog.find("mimalloc")
    if not isinstance(other, Allocator):
        raise SystemExit("mimalloc is not installed: see `reap allocators`")
    built = known_program("linked.cpp", "mimalloc")
    for mode, linked in MODES.items():
        own = known_program("linked.cpp", linked)

        def cpu(program: str, mode: str = mode, library: str = "") -> int:
            return spawn.run(Launch(argv=[program, mode, "0.4"], program=program, allocator=library)).cpu_ns

        rows = [(cpu(own), cpu(own, library=other.library), cpu(built)) for _ in range(pairs)]
        jumps = statistics.median(by / before for before, by, _ in rows)
        linked_in = statistics.median(after / before for before, _, after in rows)
        print(f"{mode}: by jumps {jumps:.2f}, built in {linked_in:.2f}")


if __name__ == "__main__":
    main()
