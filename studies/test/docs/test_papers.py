"""What is here of the five documents: the page names what exists, misses no claim, and counts itself."""

import re
from collections import Counter
from pathlib import Path

import pytest

from reap.allocators import catalog
from reap_studies.study import claims
from reap_studies.study.allocators import run as allocators
from reap_studies.study.ismm2026 import published as ismm2026
from reap_studies.study.ismm2026 import run as ismm2026_run
from reap_studies.study.oopsla2002 import published as oopsla2002
from reap_studies.study.oopsla2002 import run as oopsla2002_run
from reap_studies.workloads import card

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "papers.md").read_text()
STATES = ("done", "weaker", "substituted", "not done")
OURS = "ours"
STUDIES = {
    "ISMM 2026": "ismm2026",
    "OOPSLA 2002": "oopsla2002",
    "Six allocators": "allocators",
    "Allocator wall": "allocator_wall",
}
"""The documents that have claims, by the heading of their section."""
DOCUMENTS = (*STUDIES, "hpalloc")
MOST_NOT_DONE = 14


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def section(document):
    return PAGE.partition(f"\n## {document}\n")[2].partition("\n## ")[0]


def rows(document, heading):
    """The rows of that section's table whose first column has that heading."""
    lines = section(document).splitlines()
    start = next((number for number, line in enumerate(lines) if line.startswith(f"| {heading} |")), None)
    if start is None:
        return []
    rest = lines[start + 2 :]
    end = next((number for number, line in enumerate(rest) if not line.startswith("|")), len(rest))
    return [cells(line) for line in rest[:end]]


def items(document):
    return rows(document, "item")


def named(words):
    return re.findall(r"`([^`]+)`", words)


def claimed(document):
    """Each claim of the section with its state."""
    return [(name, state) for names, state, _ in rows(document, "claims") for name in named(names)]


def counted(document):
    every = [state for _, state, *_ in items(document)]
    every += [state for _, state in claimed(document) if state != OURS]
    return Counter(every)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_each_item_is_listed_once_with_its_state_and_a_reason(document):
    every = items(document)
    assert len({name for name, *_ in every}) == len(every) > 3
    for name, state, here, why in every:
        assert state in STATES, name
        assert state == "done" or why, f"{name} is {state} without a reason"
        assert (state == "not done") <= (not here), f"{name} is not done, and something is here"
        assert state != "substituted" or here, f"{name} is substituted by nothing"


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_stands_for_an_item_exists(document):
    known = {*card.names(), *catalog.names()}
    for name, _, here, _ in items(document):
        for each in named(here):
            assert each.startswith("reap ") or each in known, f"{name}: {each}"


@pytest.mark.parametrize(
    ("document", "runs"),
    [("ISMM 2026", ismm2026_run.WORKLOADS), ("OOPSLA 2002", oopsla2002_run.WORKLOADS)],
)
def test_the_study_runs_what_stands_for_an_item_or_the_page_says_how(document, runs):
    for name, _, here, why in items(document):
        for each in set(named(here)) & set(card.names()):
            assert each in runs or re.search(rf"--workloads {each}\b", why), f"{name}: {each}"


@pytest.mark.parametrize("document", STUDIES)
def test_each_claim_of_a_study_is_listed_once(document):
    every = claims.of(STUDIES[document])
    assert sorted(name for name, _ in claimed(document)) == sorted(every)
    for name, state in claimed(document):
        assert state in (*STATES, OURS)
        assert (state == OURS) == ("(Not in the text.)" in every[name].says), name
    for names, state, why in rows(document, "claims"):
        assert state == "done" or why, names


def test_no_program_of_the_papers_is_missing():
    for document, programs in (
        ("ISMM 2026", [each.program for each in ismm2026.PROGRAMS]),
        ("OOPSLA 2002", [each.program for each in oopsla2002.PROGRAMS]),
    ):
        assert set(programs) <= {name for name, *_ in items(document)}


@pytest.mark.parametrize(
    ("document", "here"),
    [
        ("ISMM 2026", {each.program: each.here for each in ismm2026.PROGRAMS}),
        ("OOPSLA 2002", {each.program: each.here for each in oopsla2002.PROGRAMS}),
    ],
)
def test_the_studies_name_the_same_workloads(document, here):
    """What the studies' pages put beside a program of the paper is among what this page has for it."""
    listed = {name: (state, named(where)) for name, state, where, _ in items(document)}
    for program, workload in here.items():
        state, where = listed[program]
        assert (state == "not done") == (not workload), program
        assert not workload or workload in where, program


def test_an_allocator_that_is_not_done_is_none_of_the_study_s():
    for name, state, *_ in items("Six allocators"):
        assert state != "not done" or name.lower() not in allocators.ALLOCATORS


def test_the_numbers_are_those_of_the_tables():
    head = PAGE.partition("\n## ")[0].splitlines()
    table = {line[0]: line[1:] for line in map(cells, head) if line[0] in (*DOCUMENTS, "all")}
    total = Counter()
    for document in DOCUMENTS:
        total += (count := counted(document))
        said = [str(number) for number in (*(count[state] for state in STATES), count.total())]
        assert table[document] == said, f"{document}: the page must have {' | '.join(said)}"
    said = [str(number) for number in (*(total[state] for state in STATES), total.total())]
    assert table["all"] == said, f"all: the page must have {' | '.join(said)}"
    assert total["not done"] <= MOST_NOT_DONE
