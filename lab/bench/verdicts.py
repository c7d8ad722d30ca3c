"""Whether the verdict on the wall is right: programs whose cause is known by construction, a line each.

.venv/bin/python lab/bench/verdicts.py [NAME...]

Each is run as `reap wall` runs it. The exit code says whether all were right; those that cannot be run here
are named and not counted.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))

from causes import Case, suite

from reap import units
from reap.diagnosis.wall import judge
from reap.diagnosis.wall_records import WallVerdict
from reap.experiment import wall
from reap.launch import program as programs
from reap.launch.records import Launch


def verdict(case: Case) -> WallVerdict:
    """What is said of one."""
    found = programs.resolve(case.command, environment={**os.environ, **case.environment})
    launch = Launch(argv=case.command, program=found.path, environment=case.environment)
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as folder:
        return judge(wall.measure(launch, found, Path(folder), lambda _: None).wall)


def main() -> int:
    """Prints a row for each case."""
    wanted, wrong = sys.argv[1:], 0
    for case in suite():
        if wanted and case.name not in wanted:
            continue
        if case.missing:
            print(f"{case.name:>10}  needs {case.missing}")
            continue
        said = verdict(case)
        right = said.cause == case.cause
        wrong += not right
        also = ", ".join(f"{each.cause} {units.percent(each.weight)}" for each in said.others)
        print(
            f"{case.name:>10}  {'right' if right else 'WRONG'}  {said.cause}, {said.regime}"
            f"{f' (beside it {also})' if also else ''}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
