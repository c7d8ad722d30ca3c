"""Whether the verdict on the wall is right: programs whose cause is known by construction, a line each.

.venv/bin/python lab/bench/verdicts.py [--try] [NAME...]

With `--try` also what the remedy that won takes of CPU time, wall time or memory, with its interval.
Each is run as `reap wall` runs it. The exit code says whether all were right; those that cannot be run here
are named and not counted.
"""

import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "truth"))

from cases import Case, asked, command
from reap.evidence.analyse.suspicions.verdict import judge

from reap.base import units
from reap.compare import judge as candidates
from reap.evidence import run, trial
from reap.evidence.analyse.suspicions.records import WallVerdict
from reap.launch import program as programs
from reap.launch.records import Launch

BUDGET = 30.0
"""Seconds to try the remedies of one."""


SMALL = 0.2
"""How much of the program's work is done each time that a remedy is tried."""


def verdict(case: Case, *, tries: bool) -> tuple[WallVerdict, str]:
    """What is said of one, and what its best remedy did."""
    words, _ = command(case, 1.0)
    small, _ = command(case, SMALL)
    found = programs.resolve(words, environment={**os.environ, **case.environment})
    launch = Launch(argv=words, program=found.path, environment=case.environment)
    with tempfile.TemporaryDirectory(prefix="reap-bench-") as folder:
        said = judge(run.measure(launch, found, Path(folder), lambda _: None).wall)
        planned = trial.plan(said, {**os.environ, **case.environment})
        if not tries or not planned.allocators:
            return said, ""
        # The case's own variables are the baseline's, too.
        os.environ.update(case.environment)
        runs = trial.begin(Path(folder) / "remedies", small, planned, budget=BUDGET)
        with runs:
            said, comparison = trial.tried(said, runs, planned)
        for name in case.environment:
            os.environ.pop(name)
    won = next((each for each in comparison.sides if said.trial and each.allocator == said.trial.best), None)
    gained = (candidates.gain(won, comparison) or candidates.leaves_less(won, comparison)) if won else None
    if won is None or gained is None:
        return said, "none helped"
    return said, f"{won.allocator}: {gained.metric} {units.ratio_with_interval(gained.ratio)}"


def main() -> int:
    """Prints a row for each case."""
    words, wrong = sys.argv[1:], 0
    tries, wanted = "--try" in words, [word for word in words if word != "--try"]
    for case in asked("wall"):
        if wanted and case.name not in wanted:
            continue
        if case.missing:
            print(f"{case.name:>10}  needs {case.missing}")
            continue
        said, tried = verdict(case, tries=tries)
        assert case.wall is not None  # noqa: S101 - `asked` says so
        right = said.cause == case.wall.cause
        wrong += not right
        also = ", ".join(f"{each.cause} {units.percent(each.weight)}" for each in said.others)
        print(
            f"{case.name:>10}  {'right' if right else 'WRONG'}  {said.cause}, {said.regime}"
            f"{f' (beside it {also})' if also else ''}{f'; {tried}' if tried else ''}",
            flush=True,
        )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
