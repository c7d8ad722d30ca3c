"""Coverage of printed intervals of gains, on programs rebuilt from public reports.

.venv/bin/python lab/bench/compare/coverage.py FOLDER [--verbs compare,run,wall] [--only NAME,...]
.venv/bin/python lab/bench/compare/coverage.py FOLDER --by-hand [--only NAME,...] [--rounds 9]

The first puts each case to each verb, takes every interval of CPU time of an arm from its JSON, and
measures the same arm by hand: `--rounds` interleaved runs of program and arm, CPU time from wait4. An
interval covers the truth where it meets the hand's own interval; where that is wider than WIDE, the case
is named and not counted. Results are appended to FOLDER as they come, so that a stopped bench resumes.
Ends with the row of docs/accuracy.md; the exit code says whether WANTED of the intervals cover the truth.

The second measures the twin and the usual remedies of each case by hand, prints them as
lab/test/truth/reports/measured.toml has them, and says on standard error which do not meet what stands there.
The exit code says whether all do.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).parents[2] / "test" / "truth"))

import by_hand
import covering
import keeping
import msgspec
from programs import reap_command
from reports import REPORTS, Report, command, measured

from reap.base.records import Record

VERBS = ("compare", "run", "wall")
WANTED = 0.9
WIDE = 0.06
"""The widest interval of a gain, from its low to its high end, that counts as the truth."""


class Measured(Record):
    """The gain of an arm of a case, measured by hand."""

    case: str
    arm: str
    rounds: int
    gain: float
    low: float
    high: float


class Printed(Record):
    """The interval that a verb printed of an arm of a case."""

    number: int = msgspec.field(name="pass")
    verb: str
    case: str
    arm: str
    low: float
    high: float


class Asked(Record):
    """A question that was put, whether or not intervals came of it."""

    number: int = msgspec.field(name="pass")
    verb: str
    case: str


def ask(
    verb: str, report: Report, scale: float, budget: int
) -> tuple[dict[str, tuple[float, float]], dict[str, by_hand.Arm]]:
    """Return the intervals that a verb prints of a case, and its arms by the same names."""
    words, environment = covering.environment_of(report, scale)
    with tempfile.TemporaryDirectory(prefix="reap-coverage-") as folder:
        options = ["--budget", str(budget), "-f", "-o", "out", "--json", "out.json"]
        done = subprocess.run(
            [*reap_command(), verb, *options, "--", *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        file = Path(folder, "out.json")
        if not file.exists():
            print(f"{verb} of {report.name}: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
            return {}, {}
        found = covering.printed(json.loads(file.read_text()))
        arms = covering.arms_of(Path(folder))
    return found, {name: covering.arm(report, scale, *arms[name]) for name in found if name in arms}


class Bench:
    """The files of a folder, and what is in them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self.truths = keeping.resume(folder / "truths.jsonl", Measured)
        self.printed = keeping.resume(folder / "printed.jsonl", Printed)
        self.asked = keeping.resume(folder / "asked.jsonl", Asked)

    def measure(self, report: Report, scale: float, arms: Mapping[str, by_hand.Arm], rounds: int) -> None:
        """Measures by hand those arms of a case that were not measured yet."""
        known = {row.arm for row in self.truths if row.case == report.name}
        new = {name: arm for name, arm in arms.items() if name not in known}
        if not new:
            return
        found = by_hand.gains(by_hand.Arm(*command(report, scale)), new, rounds)
        for name, each in found.items():
            row = Measured(
                case=report.name, arm=name, rounds=rounds, gain=each.gain, low=each.low, high=each.high
            )
            self.truths.append(row)
            keeping.append(self._folder / "truths.jsonl", row)

    def put(self, number: int, verb: str, report: Report, given: argparse.Namespace) -> None:
        """Puts a case to a verb, and measures the arms that it printed of."""
        row = Asked(number=number, verb=verb, case=report.name)
        if row in self.asked:
            return
        found, arms = ask(verb, report, given.scale, given.budget)
        self.measure(report, given.scale, arms, given.rounds)
        for arm in arms:
            low, high = found[arm]
            each = Printed(number=number, verb=verb, case=report.name, arm=arm, low=low, high=high)
            self.printed.append(each)
            keeping.append(self._folder / "printed.jsonl", each)
        self.asked.append(row)
        keeping.append(self._folder / "asked.jsonl", row)

    def truth(self, case: str, arm: str) -> by_hand.Gain | None:
        """Return the gain of an arm; None where it was not measured or failed."""
        rows = [row for row in self.truths if (row.case, row.arm) == (case, arm)]
        return by_hand.Gain(rows[-1].gain, rows[-1].low, rows[-1].high) if rows else None


def rows_of(bench: Bench, verbs: list[str]) -> bool:
    """Print what missed and the rows of the table; return whether WANTED of all are covered."""
    counted: Counter[str] = Counter()
    covered: Counter[str] = Counter()
    wide = set()
    for row in bench.printed:
        truth = bench.truth(row.case, row.arm)
        if truth is None or truth.high - truth.low > WIDE:
            wide.add(f"{row.case} under {row.arm}")
            continue
        counted[row.verb] += 1
        if covering.covers((row.low, row.high), truth):
            covered[row.verb] += 1
        else:
            print(
                f"{row.verb} of {row.case} under {row.arm}: printed {row.low:.1%} to {row.high:.1%}, "
                f"by hand {truth.gain:.1%} [{truth.low:.1%}, {truth.high:.1%}]"
            )
    for name in sorted(wide):
        print(f"not counted, as its truth is not known well enough: {name}")
    print("\n| verb | printed intervals of gains | that cover the truth |\n|---|---|---|")
    for verb in [*verbs, "all"]:
        whole = counted.total() if verb == "all" else counted[verb]
        part = covered.total() if verb == "all" else covered[verb]
        if whole:
            print(f"| {verb} | {whole} | {part} ({part / whole:.1%}) |")
    return covered.total() >= WANTED * counted.total()


def agree(bench: Bench, chosen: list[Report]) -> bool:
    """Print what was measured, as TOML; return whether it meets what is stated."""
    same = True
    for report in chosen:
        print(f"[{report.name}]")
        for row in (row for row in bench.truths if row.case == report.name):
            print(f"{row.arm} = [{-row.high:.3f}, {-row.gain:.3f}, {-row.low:.3f}]")
            low, _, high = measured().get(report.name, {}).get(row.arm, (-row.high, 0, -row.low))
            if not covering.covers((-high, -low), by_hand.Gain(row.gain, row.low, row.high)):
                print(f"{report.name}, {row.arm}: stated {low:.1%} to {high:.1%}", file=sys.stderr)
                same = False
        print()
    return same


def main() -> int:
    """Puts and measures what was not yet, and prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--budget", type=int, default=60, help="Seconds that a verb may take.")
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--only", default="", help="Names of cases, with commas.")
    parser.add_argument("--passes", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--verbs", default=",".join(VERBS))
    given = parser.parse_args()
    names = [*filter(None, given.only.split(","))]
    chosen = [each for each in REPORTS if (not names or each.name in names) and not each.missing]
    bench = Bench(given.folder)
    if given.by_hand:
        for report in chosen:
            bench.measure(report, given.scale, covering.usual(report, given.scale), given.rounds)
        return int(not agree(bench, chosen))
    verbs = given.verbs.split(",")
    for number in range(given.passes):
        for report in chosen:
            for verb in verbs:
                bench.put(number, verb, report, given)
    return int(not rows_of(bench, verbs))


if __name__ == "__main__":
    sys.exit(main())
