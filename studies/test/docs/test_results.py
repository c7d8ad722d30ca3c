"""Answers on the published studies are those of the conclusions that are kept, and little is kept."""

import csv
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reap_studies.study.ismm2026 import artefact

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results"
PUBLISHED = sorted(path.parent for path in RESULTS.glob("*/conclusions.json"))
MOST_KEPT = 300_000
"""Bytes of all that is kept."""


def table(folder):
    """The lines that answers.py prints below its heading."""
    answers = ROOT / "studies/bench/answers.py"
    command = [sys.executable, str(answers), str(folder / "conclusions.json")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if line.startswith("|")]


def test_something_is_published():
    assert PUBLISHED


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_each_answer_is_that_of_the_data(folder):
    lines = table(folder)
    assert len(lines) > 10
    said = (RESULTS / "README.md").read_text().splitlines()
    assert [line for line in lines if line not in said] == []


def test_the_repository_keeps_the_figures_and_the_answers_alone():
    files = [file for file in RESULTS.rglob("*") if file.is_file()]
    assert sum(file.stat().st_size for file in files) < MOST_KEPT
    kept = {"conclusions.json", "figures.csv", "parts.jsonl"}
    for folder in PUBLISHED:
        assert {file.name for file in folder.iterdir() if file.suffix != ".svg"} == kept


def test_the_papers_own_programs_stand_beside_their_artefact():
    row = re.compile(
        r"^\| ([^|]+) \| ([^|]+) \| (\w+) \| [^|]+ \| ([\d.]+) \[([\d.]+), ([\d.]+)\] \|$", re.MULTILINE
    )
    page = {named[:3]: named[3:] for named in row.findall((ROOT / "docs" / "papers.md").read_text())}
    with (RESULTS / "ismm2026" / "figures.csv").open(newline="") as file:
        ours = {
            (line["workload"], line["allocator"], line["figure"]): [line["value"], line["low"], line["high"]]
            for line in csv.DictReader(file)
            if line["part"] == "artefact"
        }
    compared = [
        (page[each.program, each.figure, each.allocator], here)
        for each in artefact.compared([])
        if each.workload in ("mudlle", "clang")
        and (here := ours.get((each.workload, each.allocator, f"cpu {each.figure}")))
    ]
    assert len(compared) == 2 * 3 * 3
    for printed, here in compared:
        assert [float(each) for each in printed] == pytest.approx([float(each) for each in here], rel=0.001)
