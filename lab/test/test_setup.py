"""What a bare machine meets first: a bootstrap that may not install."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

pytestmark = pytest.mark.bare

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def machine(tmp_path):
    """A PATH whose first folder says what the machine is; the rest of it is this one's."""
    stubs = {
        "id": "echo 1000",
        "sudo": "exit 1",
        "apt-get": "echo apt-get was run; exit 9",
        "apt-cache": '[[ "${@: -1}" != libmimalloc2.0 ]]',
        "dpkg-query": "echo installed perl; echo not-installed sed",
    }
    for name, body in stubs.items():
        stub = tmp_path / name
        stub.write_text(f"#!/bin/bash\n{body}\n")
        stub.chmod(0o755)
    return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}


def bootstrap(purpose, environment):
    return subprocess.run(
        [ROOT / "setup" / "bootstrap", purpose], env=environment, capture_output=True, text=True, check=False
    )


def test_who_may_not_install_is_shown_the_line(machine):
    answer = bootstrap("demo", machine)
    assert answer.returncode == 1
    line = re.search(r"^    (sudo apt-get update && sudo apt-get install .*)$", answer.stderr, re.MULTILINE)
    words = line[1].split()
    assert {"cmake", "g++", "ninja-build", "python3-venv", "sed"} <= set(words)
    assert "perl" not in words
    assert "apt-get was run" not in answer.stdout


def test_an_alternative_is_taken_where_the_first_is_unknown(machine):
    words = bootstrap("demo", machine).stderr.split()
    assert "libmimalloc3" in words
    assert "libmimalloc2.0" not in words


def test_the_demo_needs_neither_browser_nor_clang(machine):
    packages = bootstrap("demo", machine).stderr
    assert not re.search(r"chrom|clang|llvm|valgrind", packages)


def test_a_purpose_that_is_none_is_refused(machine):
    answer = bootstrap("lunch", machine)
    assert answer.returncode == 2
    assert "demo|test|more" in answer.stderr


def test_each_mutation_can_be_applied():
    """The text that it replaces is there once; otherwise the list says nothing about today's tests."""
    listed = tomllib.loads((ROOT / "setup" / "mutations.toml").read_text())["mutation"]
    assert len(listed) >= 30
    counts = {each["name"]: (ROOT / each["file"]).read_text().count(each["before"]) for each in listed}
    assert {name: count for name, count in counts.items() if count != 1} == {}
