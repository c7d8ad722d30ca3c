"""The conclusions of full studies as Markdown tables, for docs/results/README.md.

    .venv/bin/python studies/bench/answers.py docs/results/ismm2026/conclusions.json ...

A row for each conclusion of the paper: what it says, its own figures, and how it stands here, with the mean
of the figures and its 95 % confidence interval, unless they are means already.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
from keep import Kept

from reap_studies.study.judging import figures
from reap_studies.study.records import Conclusion


def here(conclusion: Conclusion) -> str:
    """How it stands, and the figures that say so."""
    if not conclusion.findings:
        return "not measured"
    return f"**{conclusion.standing}**. {figures(conclusion.findings)}{_beside(conclusion)}"


def _beside(conclusion: Conclusion) -> str:
    """How it would stand with the programs that do not count, in short."""
    beside = conclusion.beside
    if beside is None:
        return ""
    counts = beside.answer.partition(". ")[0]
    return f" With {', '.join(beside.workloads)}: {beside.standing} ({counts})."


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell.replace('|', '/').strip() for cell in cells)} |"


def table(study: Kept) -> list[str]:
    """The conclusions of a study, a line for each below two of heading."""
    rows = [[each.question, each.claim, each.published, here(each)] for each in study.conclusions]
    return ["| | conclusion | the paper | here |", "|---|---|---|---|", *map(row, rows)]


def main() -> None:
    """Prints a table for each study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("studies", nargs="+", type=Path)
    asked = parser.parse_args()
    for path in asked.studies:
        study = msgspec.json.decode(path.read_bytes(), type=Kept)
        print(f"\n### {study.plan.study}, {study.created[:10]}, {study.machine.processor}\n")
        print("\n".join(table(study)))


if __name__ == "__main__":
    main()
