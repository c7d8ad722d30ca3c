"""The conclusions of full studies as Markdown tables, for docs/results/README.md and, shorter, for README.md.

    .venv/bin/python studies/bench/answers.py [--short] docs/results/ismm2026/conclusions.json ...

A row for each conclusion of the paper: what it says, its own figures, and how it stands here, with the mean
of the figures and its 95 % confidence interval, unless they are means already. The shorter rows leave the
extremes out, and name the question where the paper asks some.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import msgspec
from keep import Kept

from reap_studies.study.judging import figures, middle, with_interval
from reap_studies.study.records import Conclusion


def here(conclusion: Conclusion) -> str:
    """How it stands, and the figures that say so."""
    if not conclusion.findings:
        return "not measured"
    beside = f" {conclusion.beside.words}" if conclusion.beside else ""
    return f"**{conclusion.standing}**. {figures(conclusion.findings)}{beside}"


def briefly(conclusion: Conclusion) -> str:
    """How it stands, and the mean of its figures; each of them where they have none."""
    if not conclusion.findings:
        return "not measured"
    mean, figure = middle(conclusion.findings), conclusion.findings[0].figure
    ratios = [mean] if mean else [each.ratio for each in conclusion.findings]
    return f"**{conclusion.standing}**, {'; '.join(with_interval(figure, ratio) for ratio in ratios)}"


def row(cells: Sequence[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cell.replace('|', '/').strip() for cell in cells)} |"


def table(study: Kept, *, short: bool) -> list[str]:
    """The conclusions of a study, a line for each below two of heading."""
    columns = "the paper says | its figures | here" if short else "conclusion | the paper | here"
    say = briefly if short else here
    rows = [[each.claim, each.published, say(each)] for each in study.conclusions]
    if short and not study.answers:
        return [f"| {columns} |", "|---|---|---|", *map(row, rows)]
    asked = [[each.question, *cells] for each, cells in zip(study.conclusions, rows, strict=True)]
    return [f"| | {columns} |", "|---|---|---|---|", *map(row, asked)]


def main() -> None:
    """Prints a table for each study."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("studies", nargs="+", type=Path)
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    for path in asked.studies:
        study = msgspec.json.decode(path.read_bytes(), type=Kept)
        print(f"\n### {study.plan.study}, {study.created[:10]}, {study.machine.processor}\n")
        print("\n".join(table(study, short=asked.short)))


if __name__ == "__main__":
    main()
