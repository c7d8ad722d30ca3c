"""What `reap rss` says of memory that stays, on programs rebuilt from public reports.

.venv/bin/python lab/bench/rss/remedies.py FOLDER [--only NAME,...]
.venv/bin/python lab/bench/rss/remedies.py FOLDER --try [--only NAME,...] [--budget SECONDS]
.venv/bin/python lab/bench/rss/remedies.py FOLDER --by-hand [--only NAME,...] [--rounds 3]

The first asks `reap rss` about each case of lab/test/truth/memory and holds the owner that it names against
the truth. Answers are appended to FOLDER as they come, so that a stopped bench resumes. Ends with the rows of
docs/accuracy.md; the exit code says whether none is wrong.

The second has `reap rss --try` rank the remedies of each case. The first-ranked is right where none gives
more by hand, and its settled memory where it is within a tenth of that by hand, or 4 MB. The exit code says
whether all are. A case of which the verb fails is named on standard error, and is not right.

The third measures each case, its twin and each remedy by hand, without Reap: settled PSS of all processes
in MB, the median of `--rounds` runs. Prints them as lab/test/truth/memory/measured.toml has them, and says on
standard error which differ from what stands there by more than a tenth. The exit code says whether none does.
"""

import argparse
import dataclasses
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2] / "test"))
sys.path.insert(0, str(Path(__file__).parents[2] / "test" / "truth"))

import keeping
from memory import HOLDINGS, Holding, arms, asked, by_hand, command, measured, others, trials
from memory.judge import close, of_owner, of_remedy

from reap.base.records import Record


class Settled(Record):
    """Settled MB of a case with an arm, by hand."""

    case: str
    arm: str
    megabytes: float


class Rank(Record):
    """The remedy that `reap rss --try` ranked first, by name of the arm, and settled MB with it."""

    case: str
    arm: str
    megabytes: float


class Answer(Record):
    """The owner that `reap rss` named."""

    case: str
    cause: str
    sentence: str


def answer_of(case: Holding) -> Answer:
    """Ask `reap rss` about a case."""
    verdict = verdict_of(asked.of_rss(case))
    return Answer(case=case.name, cause=verdict["cause"], sentence=verdict["sentences"][0])


def rank_of(case: Holding, budget: int | None) -> Rank:
    """Have `reap rss --try` rank the remedies of a case. Throws CalledProcessError where it fails."""
    ranked = trials.first(asked.of_rss(case, "--try", *(["--budget", str(budget)] if budget else [])))
    return Rank(case=case.name, arm=ranked.arm, megabytes=ranked.megabytes)


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


def owners(folder: Path, chosen: list[Holding]) -> bool:
    """Ask about those cases that were not yet, and print the rows; return whether no owner was wrong."""
    answers = {row.case: row for row in keeping.resume(folder / "answers.jsonl", Answer)}
    outcomes: Counter[str] = Counter()
    print("| program | report | reported owner | outcome |\n|---|---|---|---|")
    for case in chosen:
        if case.name not in answers:
            answers[case.name] = answer_of(case)
            keeping.append(folder / "answers.jsonl", answers[case.name])
        cause = answers[case.name].cause
        outcome = of_owner(cause, case)
        outcomes[outcome] += 1
        print(f"| `{case.name}` | {case.report} | {cause} | {outcome} |", flush=True)
    print(f"\n{outcomes['right']} of {len(chosen)} right, {outcomes['inconclusive']} inconclusive")
    return not outcomes["wrong"]


def ranked(folder: Path, chosen: list[Holding], budget: int | None) -> bool:
    """Rank the remedies of those cases that were not yet, and print the rows; return whether all are right.

    Settled memory with the first-ranked must also be as by hand.
    """
    ranks = {row.case: row for row in keeping.resume(folder / "ranks.jsonl", Rank)}
    right = near = 0
    print("| program | ranked first | settled MB | by hand | ratio | first-ranked | settled |")
    print("|---|---|---|---|---|---|---|")
    for case in chosen:
        if case.name not in ranks:
            try:
                ranks[case.name] = rank_of(case, budget)
            except subprocess.CalledProcessError as error:
                print(f"{case.name}: {error.stderr.strip()}", file=sys.stderr)
                continue
            keeping.append(folder / "ranks.jsonl", ranks[case.name])
        row, settled = ranks[case.name], measured()[case.name]
        outcome = of_remedy(row.arm, settled)
        by_hand_too = settled.get(row.arm or "alone")
        within = by_hand_too is not None and close(row.megabytes, by_hand_too)
        right += outcome == "right"
        near += within
        ratio = "" if by_hand_too is None else f"{row.megabytes / by_hand_too:.2f}"
        hand = "not measured" if by_hand_too is None else f"{by_hand_too:.1f}"
        said = "as by hand" if within else "not as by hand"
        arm = row.arm or "none"
        figures = f"{row.megabytes:.1f} | {hand} | {ratio}"
        print(f"| `{case.name}` | {arm} | {figures} | {outcome} | {said} |", flush=True)
    print(f"\nfirst-ranked right: {right} of {len(chosen)}; settled as by hand: {near} of {len(chosen)}")
    return right == near == len(chosen)


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
    """Return the command and environment of a case as it is, of its twin and of each arm.

    Another allocator than one that is linked in has the program that is built without that.
    """
    words, environment = command(case, 1)
    bare, _ = command(dataclasses.replace(case, linked=False), 1)
    instead = {arm: (bare, {**environment, **more}) for arm, more in others().items()} if case.linked else {}
    return {
        **instead,
        "alone": (words, environment),
        "twin": command(case, 1, cured=True),
        **{arm: (words, {**environment, **more}) for arm, more in arms(case).items()},
    }


def main() -> int:
    """Asks or measures, and prints the rows."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--by-hand", action="store_true")
    parser.add_argument("--try", action="store_true", dest="tries")
    parser.add_argument("--budget", type=int, help="Seconds for the trials of a case.")
    parser.add_argument("--only", default="", help="Names of cases, with commas.")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    only = set(filter(None, given.only.split(",")))
    chosen = [case for case in HOLDINGS if not case.missing and (not only or case.name in only)]
    if given.by_hand:
        right = by_hands(given.folder, chosen, given.rounds)
    elif given.tries:
        right = ranked(given.folder, chosen, given.budget)
    else:
        right = owners(given.folder, chosen)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
