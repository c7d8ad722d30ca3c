"""A comparison in which nothing could be compared is no success."""

import json

import pytest
from msgspec.structs import replace
from programs import library, reap
from samples import comparison_of, side_of

from reap.base.errors import ExitCode
from reap.compare.run import compares_nothing


@pytest.mark.parametrize(("script", "code"), [("sleep 0.2", ExitCode.FAILED), ("sleep 0.2; exit 3", 3)])
def test_a_budget_without_two_rounds(tmp_path, script, code):
    arms = f"glibc,good={library('good')}"
    words = ["--allocators", arms, "--budget", "0.1", "--json", "x.json", "--", "sh", "-c", script]
    done = reap("compare", *words, cwd=tmp_path)
    assert done.returncode == code, done.stderr
    assert "no allocator could be compared: the reason is beside each" in done.stderr
    assert "too few rounds" in done.stdout
    (answer,) = json.loads((tmp_path / "x.json").read_text())["answers"]
    assert [side["ratios"] for side in answer["comparison"]["sides"]] == [{}]


def test_of_commands(tmp_path):
    done = reap("compare", "--budget", "0.1", "--against", "sleep 0.3", "--", "sleep", "0.2", cwd=tmp_path)
    assert done.returncode == ExitCode.FAILED, done.stderr
    assert "no command could be compared: the reason is beside each" in done.stderr


def test_one_that_was_compared_is_enough(tmp_path):
    words = ["-n", "2", "--allocators", f"glibc,good={library('good')}", "--", "true"]
    done = reap("compare", *words, cwd=tmp_path)
    assert done.returncode == ExitCode.OK, done.stderr
    assert "could be compared" not in done.stderr


def test_which_count():
    whole = side_of("jemalloc")
    without, unverified = replace(whole, ratios={}), replace(whole, verified=False)
    for sides, nothing in (
        ([], False),  # only the baseline was asked for
        ([whole], False),
        ([without], True),
        ([unverified], True),
        ([without, unverified], True),
        ([without, whole], False),
    ):
        assert compares_nothing(comparison_of(sides)) is nothing
