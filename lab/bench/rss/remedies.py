"""What `reap rss` says of memory that stays, on programs rebuilt from public reports.

.venv/bin/python lab/bench/rss/remedies.py FOLDER [--only NAME,...]
.venv/bin/python lab/bench/rss/remedies.py FOLDER --by-hand [--only NAME,...] [--rounds 3]

The first asks `reap rss` about each case of lab/test/truth/memory and holds the owner that it names against
the truth. Answers are appended to FOLDER as they come, so that a stopped bench resumes. Ends with the rows of
docs/accuracy.md; the exit code says whether none is wrong.

The second measures each case, its twin and each remedy by hand, without Reap: settled PSS of all processes
in MB, the median of `--rounds` runs. Prints them as lab/test/truth/memory/measured.toml has them, and says on
standard error which differ from what stands there by more than a tenth. The exit code says whether none does.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).parents[2] / "test" / "truth"))

import keeping
from memory import HOLDINGS, Holding, arms, by_hand, command, measured
from memory.judge import close, of_owner
from programs import reap_command

from reap.base.records import Record


class Settled(Record):
    """Settled MB of a case with an arm, by hand."""

    case: str
    arm: str
    megabytes: float


class Answer(Record):
    """The owner that `reap rss` named."""

    case: str
    cause: str
    sentence: str


def ask(case: Holding) -> Answer:
    """Ask `reap rss` about a case. Throws CalledProcessError where it fails."""
    words, environment = command(case, 1)
    with tempfile.TemporaryDirectory(prefix="reap-remedies-") as folder:
        subprocess.run(
            [*reap_command(), "rss", "-f", "-o", "rss.csv", "--json", "rss.json", "--", *words],
            cwd=folder,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=True,
        )
        verdict = verdict_of(json.loads(Path(folder, "rss.json").read_text()))
    return Answer(case=case.name, cause=verdict["cause"], sentence=verdict["sentences"][0])


def verdict_of(tree: object) -> dict[str, str]:
    """Return the first verdict with a cause in the JSON of `reap rss`. Throws LookupError without one."""
    nodes = [tree]
    for node in nodes:
        if isinstance(node, dict):
            if {"cause", "sentences"} <= node.keys():
                return node
            nodes += node.values()
        elif isinstance(node, list):
            nodes += node
    raise LookupError("the JSON of reap rss has no verdict")


def asked(folder: Path, chosen: list[Holding]) -> bool:
    """Ask about those cases that were not yet, and print the rows; return whether no owner was wrong."""
    answers = {row.case: row for row in keeping.resume(folder / "answers.jsonl", Answer)}
    outcomes: Counter[str] = Counter()
    print("| program | report | reported owner | outcome |\n|---|---|---|---|")
    for case in chosen:
        if case.name not in answers:
            answers[case.name] = ask(case)
            keeping.append(folder / "answers.jsonl", answers[case.name])
        cause = answers[case.name].cause
        outcome = of_owner(cause, case)
        outcomes[outcome] += 1
        print(f"| `{case.name}` | {case.report} | {cause} | {outcome} |", flush=True)
    print(f"\n{outcomes['right']} of {len(chosen)} right, {outcomes['inconclusive']} inconclusive")
    return not outcomes["wrong"]


def by_hands(folder: Path, chosen: list[Holding], rounds: int) -> bool:
    """Measure what was not yet, and print it as TOML; return whether it meets what is stated."""
    file = folder / "settled.jsonl"
    rows = keeping.resume(file, Settled)
    same = True
    for case in chosen:
        print(f"[{case.name}]")
        for arm, (words, environment) in runs_of(case).items():
            known = [row.megabytes for row in rows if (row.case, row.arm) == (case.name, arm)]
            while len(known) < rounds:
                known.append(by_hand.settled(words, environment))
                keeping.append(file, Settled(case=case.name, arm=arm, megabytes=known[-1]))
            middle = statistics.median(known)
            print(f"{arm} = {middle:.1f}", flush=True)
            stated = measured().get(case.name, {}).get(arm, middle)
            if not close(middle, stated):
                print(f"{case.name}, {arm}: stated {stated:.1f} MB, now {middle:.1f}", file=sys.stderr)
                same = False
        print()
    return same


def runs_of(case: Holding) -> dict[str, tuple[list[str], Mapping[str, str]]]:
    """Return the command and environment of a case as it is, of its twin and of each arm."""
    words, environment = command(case, 1)
    return {
        "alone": (words, environment),
        "twin": command(case, 1, cured=True),
        **{arm: (words, {**environment, **more}) for arm, more in arms(case).items()},
    }


def main() -> int:
    """Asks or measures, and prints the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--only", default="", help="Names of cases, with commas.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, given.only.split(",")))
    chosen = [case for case in HOLDINGS if not case.missing and (not only or case.name in only)]
    right = by_hands(given.folder, chosen, given.rounds) if given.by_hand else asked(given.folder, chosen)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
