"""Programs rebuilt from public reports: each prints what its twin prints, and what is stated is whole."""

import re
from collections import Counter

import pytest
from covering import ALLOCATORS
from known.records import MATTERS
from printing import printed
from reports import REPORTS, Report, command, measured

SCALE = 0.03


@pytest.mark.parametrize("report", REPORTS, ids=lambda report: report.name)
def test_a_program_and_its_twin_print_the_same(report: Report) -> None:
    if report.missing:
        pytest.skip(f"needs {report.missing}")
    assert printed(*command(report, SCALE)) == printed(*command(report, SCALE, cured=True))


def test_each_kind_has_four_reports_and_six_more_are_held_out() -> None:
    kinds = Counter(report.kind for report in REPORTS if not report.held_out)
    assert set(kinds) == {6, 7, 8, 9, 10, 11}
    assert min(kinds.values()) >= 4
    assert sum(report.held_out for report in REPORTS) == 6
    assert not any(report.ci for report in REPORTS if report.held_out)


def test_each_names_its_report_and_no_other_has_its_name() -> None:
    assert len({report.name for report in REPORTS}) == len(REPORTS)
    sources = [re.findall(r"[\w.-]+/[\w.-]+#\d+$", report.fault) for report in REPORTS]
    assert all(len(found) == 1 for found in sources), sources
    assert len({found[0] for found in sources}) == len(REPORTS)


def test_what_is_concluded_follows_from_what_was_measured() -> None:
    assert measured().keys() == {report.name for report in REPORTS}
    for report in REPORTS:
        truth, changes = report.truth, measured()[report.name]
        assert all(low <= middle <= high for low, middle, high in changes.values()), report.name
        best = {arm: -middle for arm, (_, middle, _) in changes.items() if arm != "twin"}
        if truth.gain is not None and best:
            assert truth.gain == (max(best.values()) >= MATTERS), report.name
        assert ("switch the allocator" in truth.conclusions) <= any(
            best[arm] > MATTERS / 2 for arm in ALLOCATORS if arm in best
        ), report.name
        assert not set(truth.causes) & set(truth.never), report.name
        assert all(best[arm] < MATTERS for arm in set(truth.never) & best.keys()), report.name


def test_one_pass_of_ci_takes_some_of_each_kind() -> None:
    taken = [report for report in REPORTS if report.ci]
    assert {report.kind for report in taken} == {report.kind for report in REPORTS}
    assert len(taken) <= 10
