"""Ways of allocating that the recording shows are in the verdict of `wall` and of `run`, with their line.

That the change which is advised removes them is in lab/test/recording/patterns/test_kinds.py.
"""

import json
import subprocess
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import library, reap
from recorded import TARGETS, target


def told(folder: Path, done: subprocess.CompletedProcess[str]) -> tuple[str, list[tuple[str, str]]]:
    """The text without line breaks, and the patterns with their lines."""
    assert done.returncode == 0, done.stderr
    (answer,) = json.loads((folder / "x.json").read_text())["answers"]
    patterns = [(each["kind"], each["location"]) for each in answer["diagnosis"]["patterns"]]
    return " ".join(done.stdout.split()), patterns


@pytest.mark.parametrize(
    ("name", "mode", "kind", "line"),
    [
        ("temporaries", "line", "temporaries", 11),
        ("constant_growth", "reserve", "constant-growth", 12),
        pytest.param("growing_pool", "pool", "growing-pool", 26, marks=pytest.mark.timed),
        ("overflowing_resource", "small", "overflowing-resource", 12),
    ],
)
def test_wall_prints_the_line_of_a_pattern(tmp_path, name, mode, kind, line):
    done = reap("wall", "--no-try", "--json", "x.json", "--", target(f"patterns/{name}"), mode, cwd=tmp_path)
    said, patterns = told(tmp_path, done)
    where = f"patterns/{name}.cpp:{line}"
    assert (kind, where) in patterns
    assert f"In the recording: {where}: " in said
    assert "By hand: " in said


def test_wall_prints_that_a_program_was_built_without_optimisation(tmp_path):
    source = TARGETS / "patterns" / "temporaries.cpp"
    program = compiled("patterns-O0-g", ["g++", "-O0", "-g", "-fno-builtin", source, "-o", OUT])
    done = reap("wall", "--no-try", "--json", "x.json", "--", program, "kept", cwd=tmp_path)
    said, patterns = told(tmp_path, done)
    assert [kind for kind, _ in patterns] == ["unoptimized"]
    assert "In the recording: " in said


def test_run_prints_it_too(tmp_path):
    words = ("--allocators", f"glibc,good={library('good')}", "--runs", "2", "--budget", "6")
    program = target("patterns/temporaries")
    done = reap("run", *words, "--json", "x.json", "--", program, "line", cwd=tmp_path)
    said, patterns = told(tmp_path, done)
    assert ("temporaries", "patterns/temporaries.cpp:11") in patterns
    assert "In the recording: patterns/temporaries.cpp:11: " in said
