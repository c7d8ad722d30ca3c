"""`--json -`: the results on standard output, and nothing else there, for every verb that has --json."""

import json
import os
import subprocess

import pytest
from jsonschema import ValidationError
from lab.test.cli.schemas import SCHEMA_COMMAND, assert_valid
from programs import library, program, reap

from reap.base.errors import ExitCode

BUSY = program("busy")
GOOD = f"good={library('good')}"

VERBS = {
    "allocators": ["allocators", "--json", "-"],
    "doctor": ["doctor", "--json", "-"],
    "workloads list": ["workloads", "list", "--json", "-"],
    "compare": ["compare", "-n", "2", "-a", GOOD, "--json", "-", "--", BUSY],
    "run": ["run", "-n", "2", "-a", GOOD, "--json", "-", "--html", "page.html", "--", BUSY],
    "wall": ["wall", "--no-try", "--json", "-", "--html", "page.html", "--", BUSY],
    "growth": ["rss", "--pid", str(os.getpid()), "--hours", "1e-4", "--json", "-"],
}
"""Those whose standard output is their own."""

PROGRAMS = {
    "rss": ["rss", "--json", "-", "--", "sh", "-c", "echo 1; sleep 0.3"],
    "fragment": ["fragment", "--level", "adv0", "--json", "-", "--", BUSY],
    "drag": ["drag", "--engine", "sample", "--json", "-", "--", BUSY],
    "drag exact": ["drag", "--json", "-", "--", BUSY],
    "check": ["check", "--max-peak", "1GB", "--json", "-", "--", BUSY],
}
"""Those whose standard output is the program's: the results come after what it prints."""

SCHEMAS = {
    "compare": "report",
    "run": "report",
    "wall": "report",
    "check": "report",
    "drag": "drag-sample",
    "drag exact": "drag",
}
"""Where a verb's results have a schema of another name."""


@pytest.mark.parametrize("verb", VERBS)
def test_json_to_standard_output(tmp_path, verb):
    done = reap(*VERBS[verb], cwd=tmp_path)
    assert_valid(SCHEMAS.get(verb, verb.split()[0]), json.loads(done.stdout))
    assert done.stderr, "the answer is still told"
    assert not (tmp_path / "-").exists()
    assert "results: -" not in done.stderr
    if "--html" in VERBS[verb]:
        assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")
        assert "the report: page.html" in done.stderr


@pytest.mark.parametrize("verb", PROGRAMS)
def test_json_to_standard_output_comes_after_what_the_program_prints(tmp_path, verb):
    done = reap(*PROGRAMS[verb], cwd=tmp_path)
    own, _, results = done.stdout.partition("\n")
    assert own.isdigit(), done.stderr
    assert_valid(SCHEMAS.get(verb, verb), json.loads(results))
    assert not (tmp_path / "-").exists()


def test_json_of_a_recording_to_standard_output(tmp_path):
    assert reap("record", "-o", "x.reap", "--", BUSY, cwd=tmp_path).returncode == 0
    done = reap("show", "x.reap", "--json", "-", cwd=tmp_path)
    assert_valid("report", json.loads(done.stdout))
    assert "next: " in done.stderr
    done = reap("diff", "x.reap", "x.reap", "--json", "-", cwd=tmp_path)
    assert_valid("report", json.loads(done.stdout))


def test_schemas_are_those_of_the_records():
    done = subprocess.run([SCHEMA_COMMAND, "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_schema_refuses_what_is_not_written(tmp_path):
    """The check by which outputs are valid sees a missing field, another type, and a field of no record."""
    assert reap("check", "--max-peak", "1GB", "--json", "c.json", "--", BUSY, cwd=tmp_path).returncode == 0
    written = json.loads((tmp_path / "c.json").read_text())
    assert_valid("report", written)
    for damage in (
        lambda data: data.pop("machine"),
        lambda data: data.update(version=1),
        lambda data: data["answers"][0]["check"]["judged"][0].update(verdict="fine"),
        lambda data: data["answers"][0]["check"].update(further=1),
    ):
        damaged = json.loads(json.dumps(written))
        damage(damaged)
        with pytest.raises(ValidationError):
            assert_valid("report", damaged)


def test_two_results_do_not_share_standard_output(tmp_path):
    done = reap("compare", "--json", "-", "--html", "-", "--", "true", cwd=tmp_path)
    assert done.returncode == ExitCode.USAGE
    assert "standard output takes one result" in done.stderr


def test_what_is_no_stream_is_not_written_to_standard_output(tmp_path):
    for words in (["record", "-o", "-"], ["rss", "-o", "-"], ["rss", "--record", "-"]):
        done = reap(*words, "--", BUSY, cwd=tmp_path)
        assert (done.returncode, done.stdout) == (ExitCode.USAGE, ""), words
        assert "name a file" in done.stderr
    assert list(tmp_path.iterdir()) == []
