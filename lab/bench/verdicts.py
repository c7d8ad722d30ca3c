"""Whether `run` and `wall` are right about programs of known truth, and say the same; `tune` denies neither.

.venv/bin/python lab/bench/verdicts.py FOLDER [--all] [--held-out] [--budget SECONDS] [--scale 0.4] [NAME...]

Programs rebuilt from public reports (lab/test/truth/known and reports): those that CI asks about, or with
`--all` every one; `--held-out` takes the ones that no rule was made with. Each verb has its own budget, or
`--budget`; with `--verbs` one of them is asked alone. Results are appended to
FOLDER/verdicts.jsonl as they come, and one that is there is not rerun. Ends with rows of docs/accuracy.md.
The exit code says whether nothing was wrong and nothing contradicted.
"""

import argparse
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "test"))
sys.path.insert(0, str(Path(__file__).parents[1] / "test" / "truth"))

import asking
import judge
import known
import reports
from judge import Verdict

from reap.base import units

VERBS, TUNE = ("run", "wall"), "tune"


def main() -> int:
    """Prints a row for each case, and the sums."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--held-out", action="store_true")
    parser.add_argument("--budget", type=float)
    parser.add_argument("--verbs", default=",".join((*VERBS, TUNE)))
    parser.add_argument("--scale", type=float, default=0.4)
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    log = asked.folder / "verdicts.jsonl"
    held = [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []
    tally: Counter[str] = Counter()
    for case in (*known.CASES, *reports.REPORTS):
        if not _wanted(case, asked):
            continue
        rows = {row["verb"]: row for row in held if row["case"] == case.name}
        for verb in asked.verbs.split(","):
            if verb not in rows:
                rows[verb] = _tune(case, asked) if verb == TUNE else _ask(case, verb, asked)
                with log.open("a") as file:
                    file.write(json.dumps(rows[verb]) + "\n")
        said = {
            verb: Verdict(rows[verb]["headline"], [tuple(each) for each in rows[verb]["findings"]])
            for verb in VERBS
            if verb in rows
        }
        outcomes = {verb: judge.of_truth(v.headline, v.findings, case.truth) for verb, v in said.items()}
        against = judge.contradictions(*said.values()) if len(said) == len(VERBS) else []
        if TUNE in rows:
            settings = rows[TUNE]["headline"]
            against += [each for v in said.values() for each in judge.against_settings(settings, v)]
            tally[f"{TUNE} {settings}"] += 1
        tally.update(f"{verb} {outcome}" for verb, outcome in outcomes.items())
        tally["contradictions"] += bool(against)
        words = "; ".join(f"{verb} {outcomes[verb]}: {_said(v)}" for verb, v in said.items())
        print(f"{case.name}: {words}{f'; CONTRADICTION: {against}' if against else ''}", flush=True)
    _sums(tally)
    return 1 if tally["contradictions"] or any(tally[f"{verb} wrong"] for verb in VERBS) else 0


def _wanted(case: known.Known | reports.Report, asked: argparse.Namespace) -> bool:
    if asked.names:
        return case.name in asked.names
    return case.held_out if asked.held_out else not case.held_out and (asked.all or case.ci)


def _command(case: known.Known | reports.Report, scale: float) -> tuple[list[str], Mapping[str, str]]:
    found = known.command(case, scale) if isinstance(case, known.Known) else reports.command(case, scale)
    return found if isinstance(found, tuple) else (found, {})


def _tune(case: known.Known | reports.Report, asked: argparse.Namespace) -> dict[str, object]:
    """What a search for settings concludes; nothing where none can be preloaded or set."""
    words, environment = _command(case, asked.scale)
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="reap-verdicts-") as folder:
        try:
            said: str = asking.settings(words, environment, Path(folder))
        except AssertionError:  # it says what cannot be searched
            said = "refused"
    seconds = time.monotonic() - begin
    return {"case": case.name, "verb": TUNE, "headline": said, "findings": [], "seconds": seconds}


def _ask(case: known.Known | reports.Report, verb: str, asked: argparse.Namespace) -> dict[str, object]:
    words, environment = _command(case, asked.scale)
    with tempfile.TemporaryDirectory(prefix="reap-verdicts-") as folder:
        budget = ("--budget", str(asked.budget)) if asked.budget else ()
        begin = time.monotonic()
        said = asking.diagnosis(verb, words, environment, Path(folder), budget)
    findings = [[each.cause, each.status] for each in said.findings]
    return {
        "case": case.name,
        "verb": verb,
        "headline": said.headline,
        "findings": findings,
        "says": said.paragraph,
        "seconds": time.monotonic() - begin,
    }


def _said(verdict: Verdict) -> str:
    proven = [cause for cause, status in verdict.findings if status == "proven"]
    return verdict.headline + (f" ({', '.join(proven)})" if proven else "")


def _sums(tally: Counter[str]) -> None:
    for verb in VERBS:
        counts: Sequence[int] = [tally[f"{verb} {each}"] for each in ("right", "inconclusive", "wrong")]
        every = sum(counts) or 1
        cells = " | ".join(f"{count} ({units.percent(count / every)})" for count in counts)
        print(f"| `{verb}` | {sum(counts)} | {cells} |")
    print(f"contradictions: {tally['contradictions']}")


if __name__ == "__main__":
    sys.exit(main())
