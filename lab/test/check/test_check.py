"""`reap check`, as a user meets it: a program whose budget is known."""

import json
import os
import xml.etree.ElementTree as ET
from importlib.resources import files
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import library, reap

from reap.base.errors import ExitCode
from reap.check.command import check
from reap.check.records import UNITS

SOURCE = Path(__file__).with_name("budget.c")
INCLUDE = f"-I{files('reap') / 'include'}"
PROGRAM = compiled("budget", ["gcc", "-g", "-O1", "-fno-builtin", INCLUDE, SOURCE, "-o", OUT])
KEPT = ("--max-peak", "6000", "--max-allocations", "61", "--max-live-at-exit", "1kB")
"""Exactly what `budget fixed` takes."""


def checked(
    folder: Path, *options: str, program: tuple[str, ...] = ("fixed",), code: int = 0, **more
) -> dict:
    done = reap("check", *options, "--json", "c.json", "-f", "--", PROGRAM, *program, cwd=folder, **more)
    assert done.returncode == code, done.stderr
    return json.loads((folder / "c.json").read_text())["answers"][0]["check"]


def verdicts(held: dict) -> dict[str, str]:
    return {each["limit"]["figure"]: each["verdict"] for each in held["judged"]}


def test_a_program_within_its_budget_passes(tmp_path):
    done = reap("check", *KEPT, "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == ExitCode.OK
    assert done.stdout == "", "standard output is the program's"
    said = "reap: passed: budget: 3 limits kept: peak 5.86 KiB, allocations 61, live-at-exit 0.98 KiB"
    assert done.stderr.splitlines()[-1] == said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("limit", "value"),
    [
        (("--max-peak", "5.999kB"), 6000),
        (("--max-bytes", "9199"), 10 * 100 + 50 * 64 + 5000),
        (("--max-allocations", "60"), 61),
        (("--max-temporary", "50"), 51),
        (("--max-live-at-exit", "999"), 1000),
        (("--max-live-at-exit", "0"), 1000),
    ],
)
def test_one_more_than_the_budget_fails(tmp_path, limit, value):
    held = checked(tmp_path, *limit, code=ExitCode.FAILED)
    (judged,) = held["judged"]
    assert (judged["verdict"], judged["values"][0]["value"]) == ("exceeded", value)
    function = "leaks" if "live" in limit[0] else "frees"
    assert judged["places"][0]["function"] == function
    assert judged["places"][0]["file"].endswith("budget.c")


def test_what_is_exceeded_and_where_is_said(tmp_path):
    done = reap("check", *KEPT, "--max-peak", "1kB", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    for text in (
        "exceeded: peak 5.86 KiB, limit 0.98 KiB (1kB)\n",
        "4.88 KiB in frees (budget, ",
        "budget.c:",
        "ok: allocations 61 of 61\n",
        "1 of 3 limits exceeded: peak 5.86 KiB, limit 0.98 KiB (1kB)\n",
        "add --html FILE",
    ):
        assert text in done.stderr


def test_a_report_that_is_written_is_not_asked_for(tmp_path):
    done = reap("check", "--max-peak", "1kB", "--html", "x.html", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert "the report: x.html" in done.stderr
    assert "add --html" not in done.stderr


def test_several_runs_say_that_each_exceeds(tmp_path):
    done = reap("check", "--max-peak", "1kB", "-n", "3", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert "exceeded: peak at least 5.86 KiB in each of 3 runs, limit 0.98 KiB (1kB)\n" in done.stderr


def test_limits_of_sizes_and_counts_are_options_with_their_units():
    metavars = {option.opts[0]: option.metavar for option in check.params}
    for figure, unit in UNITS.items():
        assert metavars[f"--max-{figure}"] == ("SIZE" if unit == "bytes" else "N")


def test_the_program_s_own_status_comes_first(tmp_path):
    held = checked(tmp_path, "--max-peak", "1", program=("status", "7"), code=7)
    assert (held["status"], held["judged"]) == (7, [])
    done = reap("check", "--max-peak", "1", "--timeout", "0.2", "--", "sleep", "9", cwd=tmp_path)
    assert done.returncode == ExitCode.TIMED_OUT
    assert "not checked: sleep failed with exit status 124" in done.stderr


def test_what_the_runtime_library_keeps_is_not_a_leak(tmp_path):
    held = checked(tmp_path, "--max-live-at-exit", "1000", program=("prints",))
    (kept,) = held["suppressed"]
    assert (kept["pattern"], kept["runtime"]) == ("buffers of standard streams", True)
    assert kept["bytes"] >= 1024


@pytest.mark.parametrize("glob", ["leaks", "le?ks", "*"])
def test_a_known_leak_is_suppressed(tmp_path, glob):
    held = checked(tmp_path, "--max-live-at-exit", "0", "--suppress", glob)
    assert held["suppressed"] == [{"pattern": glob, "bytes": 1000.0, "runtime": False}]


def test_a_suppression_that_matches_nothing_is_said(tmp_path):
    held = checked(tmp_path, "--max-live-at-exit", "1 kB", "--suppress", "leak")
    assert held["notes"] == ["The suppression leak matches nothing that is live at exit."]


def test_marked_requests_have_limits(tmp_path):
    held = checked(
        tmp_path, "--max-allocs-per-mark", "4", "--max-bytes-per-mark", "399", program=("marks", "9"), code=1
    )
    assert verdicts(held) == {"allocs-per-mark": "kept", "bytes-per-mark": "exceeded"}
    done = reap("check", "--max-allocs-per-mark", "4", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    assert "marks no request" in done.stderr


def test_a_budget_file_has_all_of_it_and_options_come_first(tmp_path):
    (tmp_path / "budget.toml").write_text(
        'runs = 2\nsuppress = ["leaks"]\n[limits]\npeak = "1 kB"\nallocations = 61\nlive-at-exit = 0\n'
    )
    held = checked(tmp_path, "budget.toml", code=1)
    assert verdicts(held) == {"peak": "exceeded", "allocations": "kept", "live-at-exit": "kept"}
    assert (held["runs"], held["runs_at_most"]) == (2, 2)
    assert checked(tmp_path, "budget.toml", "--max-peak", "6 kB")["runs"] == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[limits]\npeek = 1\n", "did you mean peak?"),
        ("[limits]\npeak = '1 MW'\n", "is not understood"),
        ("[limits]\npeak = -1\n", "is not understood"),
        ("[limit]\npeak = 1\n", "unknown field `limit`"),
        ("[limits\n", "is not understood"),
        ("runs = 1\n", "no limit to check"),
    ],
)
def test_a_budget_that_is_not_understood_is_refused(tmp_path, text, said):
    (tmp_path / "b.toml").write_text(text)
    done = reap("check", "b.toml", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (ExitCode.USAGE, "")
    assert said in done.stderr


def test_without_limits_or_program_it_is_a_usage_error(tmp_path):
    assert "there is no limit to check" in reap("check", "--", PROGRAM, "fixed").stderr
    assert reap("check", "--max-peak", "1").returncode == ExitCode.USAGE
    done = reap("check", "--max-peak", "1", PROGRAM, cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "comes after --" in done.stderr


def test_a_baseline_limits_growth(tmp_path):
    words = ("--baseline", "base.json", "--fail-if", "peak > +5 %", "--fail-if", "allocations > +1")
    missing = reap("check", *words, "--", PROGRAM, "fixed", cwd=tmp_path)
    assert missing.returncode == ExitCode.INTERNAL
    assert "make it: add --update" in missing.stderr
    assert checked(tmp_path, *words, "--update", "--runs", "3")["runs"] == 3
    written = json.loads((tmp_path / "base.json").read_text())
    assert [run["peak"] for run in written["runs"]] == [6000] * 3
    assert verdicts(checked(tmp_path, *words)) == {"peak": "kept", "allocations": "kept"}
    more = checked(tmp_path, *words, program=("coin", "100"), code=1)
    assert verdicts(more) == {"peak": "exceeded", "allocations": "kept"}
    assert more["judged"][0]["limit"]["most"] == 6300
    (tmp_path / "base.json").write_text("{")
    assert "is damaged" in reap("check", *words, "--", PROGRAM, "fixed", cwd=tmp_path).stderr


def test_a_figure_that_varies_is_decided_by_all_runs(tmp_path):
    """The first run that keeps all limits ends the check; the exact rate of false alarms is in test_judge."""
    always = checked(tmp_path, "--max-peak", "6000", "-n", "4", program=("coin", "100"), code=1)
    assert (always["runs"], len(always["judged"][0]["values"])) == (4, 4)
    assert checked(tmp_path, "--max-peak", "6000", "-n", "40", program=("coin", "50"))["runs"] < 40


def test_every_run_reads_the_same_input(tmp_path):
    words = ("--max-allocations", "1", "-n", "2")
    held = checked(tmp_path, *words, program=("reads",), code=1, stdin=None, input="12345")
    assert [each["value"] for each in held["judged"][0]["values"]] == [61 + 5 + 1] * 2


def test_triage_of_few_events_is_exact(tmp_path):
    options = ("-d", "triage", "--max-allocations", "60", "--max-peak", "5000")
    held = checked(tmp_path, *options, code=1)
    assert verdicts(held) == {"allocations": "exceeded", "peak": "exceeded"}
    assert not any("99.9 % CI" in note for note in held["notes"])


def suite_of(file: Path) -> ET.Element:
    return ET.parse(file).getroot().find("testsuite")  # noqa: S314 - our own


def test_junit_has_a_case_for_each_limit(tmp_path):
    checked(tmp_path, *KEPT, "--max-peak", "1", "--junit", "j.xml", code=1)
    suite = suite_of(tmp_path / "j.xml")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("3", "1", "0")
    cases = {case.get("name"): [child.tag for child in case] for case in suite}
    assert cases["peak at most 1"] == ["failure"]
    assert cases["allocations at most 61"] == ["system-out"]
    checked(tmp_path, *KEPT, "--junit", "j.xml", program=("status", "3"), code=3)
    suite = suite_of(tmp_path / "j.xml")
    assert suite.get("errors") == "1"
    assert "exit status 3" in suite.find("testcase/error").get("message")


def test_annotations_of_github(tmp_path):
    words = ("check", "--max-peak", "1", "--", PROGRAM, "fixed")
    plain = reap(*words, cwd=tmp_path)
    assert "::error" not in plain.stderr
    assert "::error" in reap(*words, cwd=tmp_path, env=_with(GITHUB_ACTIONS="true")).stderr
    done = reap("check", "--github", *words[1:], cwd=tmp_path)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("::error")]
    assert ",file=" in line
    assert "budget.c,line=" in line
    assert "%0A" in line, "one line, whatever is said"


def _with(**variables: str) -> dict[str, str]:
    return {**os.environ, **variables}


def test_the_page_has_the_verdict_and_the_flame_graph(tmp_path):
    done = reap("check", "--max-peak", "1", "--html", "c.html", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED
    page = (tmp_path / "c.html").read_text()
    for text in ("Is this program within its budget?", "Over budget", "Flame graph"):
        assert text in page


def test_the_recording_is_kept_where_asked(tmp_path):
    done = reap("check", "--max-peak", "1", "-o", "r.reap", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert "next: reap show r.reap" in done.stderr
    assert reap("show", "r.reap", cwd=tmp_path).returncode == 0
    again = reap("check", "--max-peak", "1", "-o", "r.reap", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert (again.returncode, "exists already" in again.stderr) == (ExitCode.INTERNAL, True)


def test_it_is_checked_under_another_allocator(tmp_path):
    done = reap("check", *KEPT, "-a", f"good={library('good')}", "--", PROGRAM, "fixed", cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_options_of_the_program_are_its_own(tmp_path):
    done = reap("check", "--max-peak", "9MB", "--", "echo", "--max-peak", "--", "x", cwd=tmp_path)
    assert done.stdout == "--max-peak -- x\n"
