"""What is said of the published studies is what their data say."""

import functools
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from reap.base import units
from reap.study.ismm2026 import artefact
from reap.study.ismm2026 import judge as ismm2026
from reap.study.oopsla2002 import run as oopsla2002
from reap.study.records import Study

ROOT = Path(__file__).resolve().parents[3]
RESULTS = ROOT / "docs" / "results"
PUBLISHED = sorted(path.parent for path in RESULTS.glob("*/study.json"))
JUDGES = {
    "ismm2026": lambda study: ismm2026.judge(study.measured, study.occupancy),
    "oopsla2002": oopsla2002.judge,
}


@functools.cache
def study_of(name):
    """It is large."""
    return msgspec.json.decode((RESULTS / name / "study.json").read_bytes(), type=Study)


def table(folder, *options):
    """The lines that answers.py prints below its heading."""
    command = [sys.executable, str(ROOT / "lab/bench/study/answers.py"), *options, str(folder / "study.json")]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [line for line in said.splitlines() if line.startswith("|")]


def test_something_is_published():
    assert PUBLISHED


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
@pytest.mark.parametrize("options", [(), ("--short",)])
def test_each_answer_is_that_of_the_data(folder, options):
    lines = table(folder, *options)
    assert len(lines) > 10
    said = ((ROOT if options else RESULTS) / "README.md").read_text().splitlines()
    assert [line for line in lines if line not in said] == []


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_a_published_study_is_whole(folder):
    there = {file.name for file in folder.iterdir()}
    assert {"study.html", "study.json", "figures.csv", "parts.jsonl"} <= there
    assert not (folder / "runs").exists()


@pytest.mark.parametrize("folder", PUBLISHED, ids=lambda folder: folder.name)
def test_what_is_published_follows_from_its_figures_by_the_rules_of_today(folder):
    published = study_of(folder.name)
    assert JUDGES[folder.name](published) == published.conclusions


def test_the_papers_own_programs_stand_beside_their_artefact():
    page = (ROOT / "docs" / "papers.md").read_text().splitlines()
    rows = [
        f"| {each.program} | {each.figure} | {each.allocator} | {units.ratio_with_interval(each.artefact)} "
        f"| {units.ratio_with_interval(each.here)} |"
        for each in artefact.compared(study_of("ismm2026").measured)
        if each.workload in ("mudlle", "clang") and each.here
    ]
    assert len(rows) == 2 * 3 * 3
    assert [row for row in rows if row not in page] == []


def test_the_intervals_that_stayed_wide_are_counted():
    page = (RESULTS / "README.md").read_text()
    counts = [sum(len(each.wide) for each in study_of(name).measured) for name in ("oopsla2002", "ismm2026")]
    assert f"thirty: {counts[0]:,} and {counts[1]:,} ratios" in page
