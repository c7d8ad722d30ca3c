"""How often verdicts are right: programs of known cause and their twins, put to each verb again and again.

.venv/bin/python lab/bench/truth.py FOLDER [--passes 10] [--hog] [--verbs wall,rss] [--only NAME] [--scale 1]

Results are appended to FOLDER/results.jsonl as they come, and one that is there is not rerun, so that
a stopped bench resumes. `--hog` keeps one core busy meanwhile. `--only` takes several names with commas;
`--scale` says how long programs run, in place of SCALES. Ends with the tables of docs/accuracy.md.
Those that cannot be run here are named and not counted. The exit code says whether nothing was wrong.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "truth"))

import asking
import judge
import keeping
import msgspec
import settings
from cases import Case, asked, find, has_twin

from reap.base.records import Record

VERBS = ("wall", "share", "rss", "run", "tune")
SCALES = {"wall": 0.4, "share": 1.5, "rss": 1.0, "run": 0.3}
PAIRS = 5
"""Pairs of a program and its twin, from which the true share of time comes."""


class Row(Record):
    """What came of one question."""

    number: int = msgspec.field(name="pass")
    verb: str
    case: str
    twin: bool
    outcome: judge.Outcome
    said: str


def put(verb: str, case: Case | settings.Setting, scale: float | None, *, cured: bool) -> judge.Judged:
    """What came of asking a verb about a case."""
    if isinstance(case, settings.Setting):
        with tempfile.TemporaryDirectory(prefix="reap-truth-") as folder:
            return settings.of_tune(settings.search(case, Path(folder)), case)
    scale = scale or SCALES[verb]
    with tempfile.TemporaryDirectory(prefix="reap-truth-") as folder:
        if verb == "rss" and case.rss:
            return judge.of_rss(asking.of_rss(case, scale, cured=cured), case.rss, cured=cured)
        if verb == "run" and case.run:
            return judge.of_run(
                asking.of_run(case, scale, Path(folder), asking.FULL, cured=cured), case.run, cured=cured
            )
        suspicions = asking.of_wall(case, scale, Path(folder), cured=cured)
        if verb == "share":
            return judge.of_share(
                suspicions[0].weight if suspicions else 0.0, asking.true_share(case, scale, PAIRS)
            )
        assert case.wall is not None  # noqa: S101 - `asked` says so
        return judge.of_wall(suspicions, case.wall, cured=cured)


def questions(verbs: list[str], names: list[str]) -> list[tuple[str, Case | settings.Setting, bool]]:
    """Verb, case, and whether it is the twin."""
    found: list[tuple[str, Case | settings.Setting, bool]] = []
    for verb in verbs:
        if verb == "tune":
            found += [("tune", each, False) for each in settings.SETTINGS if not names or each.name in names]
            continue
        for case in asked(verb):
            if names and case.name not in names:
                continue
            if case.missing:
                print(f"{case.name}: needs {case.missing}", file=sys.stderr)
                continue
            found.append((verb, case, False))
            if verb != "share" and has_twin(case) and (verb != "run" or (case.run and case.run.twin)):
                found.append((verb, case, True))
    return found


def main() -> int:
    """Asks what was not asked yet, and prints the tables."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", default="", help="Names of cases, with commas.")
    parser.add_argument("--passes", type=int, default=10)
    parser.add_argument("--hog", action="store_true")
    parser.add_argument("--scale", type=float)
    parser.add_argument("--verbs", default=",".join(VERBS))
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    file = given.folder / "results.jsonl"
    done = keeping.resume(file, Row)
    known = {(row.number, row.verb, row.case, row.twin) for row in done}
    hog = subprocess.Popen([sys.executable, "-c", "while True: pass"]) if given.hog else None
    try:
        for number in range(given.passes):
            for verb, case, cured in questions(
                given.verbs.split(","), [*filter(None, given.only.split(","))]
            ):
                if (number, verb, case.name, cured) in known:
                    continue
                judged = put(verb, case, given.scale, cured=cured)
                row = Row(
                    number=number,
                    verb=verb,
                    case=case.name,
                    twin=cured,
                    outcome=judged.outcome,
                    said=judged.said,
                )
                done.append(row)
                keeping.append(file, row)
                name = f"{case.name}{' (twin)' if cured else ''}"
                print(
                    f"{number} {verb:5} {name:24} {judged.outcome:12} {judged.said}",
                    file=sys.stderr,
                    flush=True,
                )
    finally:
        if hog is not None:
            hog.kill()
    return tables(done)


def tables(rows: list[Row]) -> int:
    """Prints them as Markdown; 1 if anything was wrong."""
    print("| verb | asked | right | inconclusive | wrong |\n|---|---|---|---|---|")
    for verb in VERBS:
        counts = Counter(row.outcome for row in rows if row.verb == verb)
        if whole := counts.total():
            parts = [
                f"{counts[name]} ({counts[name] / whole:.1%})" for name in ("right", "inconclusive", "wrong")
            ]
            print(f"| {verb} | {whole} | {' | '.join(parts)} |")
    odd = Counter(
        (row.verb, row.case, row.twin, row.outcome, row.said) for row in rows if row.outcome != "right"
    )
    print("\n| verb | program | outcome | times | said |\n|---|---|---|---|---|")
    for (verb, name, twin, outcome, said), times in sorted(odd.items()):
        print(f"| {verb} | {name}{', twin' if twin else ''} | {outcome} | {times} | {said} |")
    print("\n| program | language | fault | put to |\n|---|---|---|---|")
    for name in dict.fromkeys(row.case for row in rows if row.verb != "tune"):
        case = find(name)
        verbs = ", ".join(verb for verb in VERBS if verb != "tune" and case in asked(verb))
        print(f"| {name} | {case.language} | {case.fault} | {verbs} |")
    for setting in settings.SETTINGS if any(row.verb == "tune" for row in rows) else ():
        print(f"| {setting.name} | C | {setting.fault} | tune |")
    return int(any(row.outcome == "wrong" for row in rows))


if __name__ == "__main__":
    sys.exit(main())
