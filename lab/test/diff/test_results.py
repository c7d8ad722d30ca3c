"""`reap diff` of two reports: figures that both have, with intervals where there are some."""

import json
import math

import msgspec
import pytest
from programs import reap
from samples import comparison_of, machine, profile_of, report_of, side_of

from reap.answer.json import encode
from reap.answer.records import Answer
from reap.base.errors import ExitCode
from reap.base.records import Estimate, exactly
from reap.compare.part import ComparisonPart
from reap.diff.analyse import results
from reap.show.part import ProfilePart

PROFILE = profile_of(depth="full")


def compared(ratio: float, half: float) -> Answer:
    made = comparison_of([side_of("jemalloc", ratio, half)])
    return Answer(title="perl", command=["perl"], parts=[ComparisonPart(comparison=made)])


def recorded(total: int, title: str = "perl") -> Answer:
    totals = msgspec.structs.replace(PROFILE.totals, total_objects=total)
    held = msgspec.structs.replace(PROFILE, totals=totals)
    return Answer(title=title, command=["perl"], parts=[ProfilePart(profile=held)])


@pytest.fixture
def differ(tmp_path):
    def run(before, after, *options):
        for name, made in (("a", before), ("b", after)):
            data = made if isinstance(made, bytes) else encode(report_of(*made))
            (tmp_path / f"{name}.json").write_bytes(data)
        return reap("diff", "a.json", "b.json", *options, cwd=tmp_path)

    return run


def test_totals_of_recordings_are_compared(differ, tmp_path):
    done = differ([recorded(1000)], [recorded(1500)], "--json", "x.json", "--html", "x.html")
    assert done.returncode == 0, done.stderr
    row = next(line.split() for line in done.stdout.splitlines() if line.split()[:1] == ["allocations"])
    assert row == ["allocations", "1", "000", "1", "500", "1.500"]
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    found = {each["figure"]: each for each in answer["changed"]["figures"]}
    assert found["allocations"]["verdict"] == "grew"
    assert found["bytes allocated"]["verdict"] == "same"
    page = (tmp_path / "x.html").read_text()
    assert "What has changed since the report before?" in page
    assert "1.500" in page


@pytest.mark.parametrize(("after", "verdict"), [(0.8, "shrank"), (1.2, "grew"), (1.005, "inconclusive")])
def test_ratios_of_comparisons_have_intervals(differ, tmp_path, after, verdict):
    done = differ([compared(1.0, 0.01)], [compared(after, 0.01)], "--json", "x.json")
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    found = {each["figure"]: each for each in answer["changed"]["figures"]}
    name = next(name for name in found if name.startswith("cpu, jemalloc / "))
    assert found[name]["verdict"] == verdict
    assert found[name]["ratio"]["low"] < after < found[name]["ratio"]["high"]


def test_errors_of_logarithms_add_up_as_squares():
    found = results._ratio(
        Estimate(value=1.0, low=math.exp(-0.03), high=math.exp(0.03)),
        Estimate(value=2.0, low=2 * math.exp(-0.04), high=2 * math.exp(0.04)),
    )
    assert (found.value, found.low, found.high) == pytest.approx((2, 2 * math.exp(-0.05), 2 * math.exp(0.05)))
    assert results._ratio(exactly(0), exactly(1)) is None


def test_what_only_one_has_and_other_machines_are_said(differ):
    other = msgspec.structs.replace(machine(), kernel="another")
    late = msgspec.structs.replace(report_of(recorded(1), recorded(2, "sed")), machine=other)
    said = " ".join(differ([recorded(1)], encode(late)).stdout.split())
    assert "Only b.json has sed." in said
    assert "made on different machines" in said


@pytest.mark.parametrize(
    ("after", "options", "code", "words"),
    [
        (b'{"schema": "report", "version": 99}', [], ExitCode.INTERNAL, "has version 99 of the schema"),
        (b'{"schema": "rss", "version": 1}', [], ExitCode.INTERNAL, "is what another command wrote (rss)"),
        (b'{"schema": "rep', [], ExitCode.INTERNAL, "is not a report of reap"),
        (b"RPTRACE", [], ExitCode.USAGE, "a recording and a report cannot be compared"),
        ([recorded(1, "sed")], [], ExitCode.INTERNAL, "have no figure in common"),
        ([recorded(1)], ["--fail-if", "peak > +5 %"], ExitCode.USAGE, "--fail-if requires recordings"),
    ],
)
def test_bad_reports_get_one_message(differ, after, options, code, words):
    done = differ([recorded(1)], after, *options)
    assert (done.returncode, done.stdout) == (code, "")
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr
