"""The conclusions of full studies as Markdown tables, for docs/results/README.md.

    .venv/bin/python studies/bench/answers.py docs/results/ismm2026/conclusions.json ...

Controls that failed and stand-ins that depart come first. A row for each conclusion of the paper: what it
says, its own figures, how it stands here, with the mean over programs and its 95 % confidence interval, and
what that rests on.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
from keep import Kept

from reap_studies.study.judging import words
from reap_studies.study.records import Conclusion


def here(conclusion: Conclusion) -> str:
    """How it stands, and the figures that say so."""
    if not conclusion.findings:
        return "not measured"
    return f"**{conclusion.standing}**. {words.figures(conclusion)}"


def sensitivity(conclusion: Conclusion) -> str:
    """What other evidence makes of it, in short: `+toy` is without that exclusion."""
    said = []
    if conclusion.flips:
        changed = ", ".join(f"{name} ({standing})" for name, standing in conclusion.flips.items())
        said.append(f"**Flips** without {changed}.")
    elif conclusion.flips is not None:
        said.append("Survives.")
    for each in conclusion.sensitivity:
        name = each.what.removesuffix(" alone").replace("without the exclusion ", "+")
        same = "same" if each.standing == conclusion.standing else each.standing
        said.append(f"{name}: {same} ({each.programs}).")
    return " ".join(said)


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell.replace('|', '/').strip() for cell in cells)} |"


def table(study: Kept) -> list[str]:
    """The conclusions of a study, a line for each below two of heading."""
    rows = [
        [each.question, each.claim, each.published, here(each), sensitivity(each)]
        for each in study.conclusions
    ]
    return [
        "| | conclusion | the paper | here | with other evidence |",
        "|---|---|---|---|---|",
        *map(row, rows),
    ]


def warnings(study: Kept) -> list[str]:
    """What must be known before the table is read."""
    said = [f"- Control failed: {each}" for each in study.controls]
    return said + [f"- No evidence: `{name}` ({words})." for name, words in study.departures.items()]


def main() -> None:
    """Prints a table for each study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("studies", nargs="+", type=Path)
    asked = parser.parse_args()
    for path in asked.studies:
        study = msgspec.json.decode(path.read_bytes(), type=Kept)
        print(f"\n### {study.plan.study}, {study.created[:10]}, {study.machine.processor}\n")
        print("\n".join([*warnings(study), "", *table(study)]))


if __name__ == "__main__":
    main()
