"""The conclusions of full studies as Markdown tables, for README.md and docs/results/README.md.

    .venv/bin/python lab/bench/study/answers.py docs/results/ismm2026/study.json ...

A row for each conclusion of the paper: what it says, its own figures, and how it stands here, with the mean
of the figures and its 95 % confidence interval, unless they are means already.
"""

import sys
from pathlib import Path

import msgspec

from reap.study.judging import figures
from reap.study.records import Conclusion, Study


def here(conclusion: Conclusion) -> str:
    """How it stands, and the figures that say so."""
    if not conclusion.findings:
        return "not measured"
    beside = f" {conclusion.beside.words}" if conclusion.beside else ""
    return f"**{conclusion.standing}**. {figures(conclusion.findings)}{beside}"


def main() -> int:
    """Prints a table for each study."""
    for name in sys.argv[1:]:
        study = msgspec.json.decode(Path(name).read_bytes(), type=Study)
        print(f"\n### {study.plan.study}, {study.created[:10]}, {study.machine.processor}\n")
        print("| | conclusion | the paper | here |\n|---|---|---|---|")
        for each in study.conclusions:
            cells = (each.question, each.claim, each.published, here(each))
            print(f"| {' | '.join(cell.replace('|', '/').strip() for cell in cells)} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
