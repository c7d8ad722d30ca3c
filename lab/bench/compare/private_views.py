"""How much pairs of runs vary of programs that write files: one after another, and at once in private views.

    .venv/bin/python lab/bench/compare/private_views.py [--rounds 12]

Prints for gcc, sort and sqlite3, each writing one file, the standard deviation of the logarithm of the ratio
of CPU times of glibc against itself in a round, and jemalloc's ratio with its 95 % confidence interval.
"""

import argparse
import math
import random
import statistics
import sys
import tempfile
from pathlib import Path

from reap.allocators import catalog
from reap.compare.run import compare
from reap.experiment.folder import Folder
from reap.experiment.records import Asked
from reap.experiment.specify import Conditions, Workload, specify

LINES = 400_000
FUNCTIONS = 700
TABLE = (
    "drop table if exists t; create table t(a integer, b text); with recursive n(i) as (values(1) union all "
    "select i+1 from n where i<250000) insert into t select i, hex(i*7919) from n; "
    "create index i on t(b); select count(*) from t;"
)
COMMANDS = {
    "gcc -O1 -o": ["gcc", "-O1", "-o", "program", "program.c"],
    "sort -o": ["sort", "--parallel=1", "-o", "sorted", "words"],
    "sqlite3": ["sqlite3", "base.sqlite", TABLE],
}


def prepare(folder: Path) -> None:
    """The files that the commands read."""
    draw = random.Random(1)
    (folder / "words").write_text("".join(f"{draw.random()}\n" for _ in range(LINES)))
    body = "for (int i = 0; i < x; ++i) y += i * x ^ (y >> 3); return y ? y / 3 : x;"
    functions = "".join(f"int f{i}(int x) {{ int y = {i}; {body} }}\n" for i in range(FUNCTIONS))
    (folder / "program.c").write_text(f"{functions}int main(void) {{ return f1(2) & 1; }}\n")


def main() -> int:
    """A row for each program and method."""
    words = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    words.add_argument("--rounds", type=int, default=12)
    asked = words.parse_args()
    methods: tuple[Asked, ...] = ("sequential", "auto")
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as scratch:
        for name, command in COMMANDS.items():
            for method in methods:
                where = Path(scratch) / f"{command[0]}-{method}"
                where.mkdir()
                prepare(where)
                spec = specify(
                    command,
                    catalog.parse("glibc,jemalloc"),
                    workload=Workload(directory=str(where)),
                    conditions=Conditions(runs=asked.rounds, pairing=method),
                )
                with Folder.create(where / "experiment", spec, None) as folder:
                    found = compare(folder)
                own = statistics.stdev(math.log(pair) for pair in found.noise["cpu"].pairs)
                (side,) = found.sides
                ratio = side.ratios["cpu"].ratio
                view = "in private views" if found.pairing.private else found.pairing.reason
                print(
                    f"{name:10} {found.pairing.method:12} {view:16} sd {100 * own:5.2f} %  jemalloc "
                    f"{ratio.value:.3f} [{ratio.low:.3f}, {ratio.high:.3f}]",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
