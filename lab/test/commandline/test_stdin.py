"""Standard input in a command that is to be pasted."""

import os
import subprocess
import sys

import pytest
from programs import reap

CODE = "from reap.commandline.stdin import with_input as w; print(w({line!r}, {command!r}))"


def told(line, command, stdin, cwd):
    code = CODE.format(line=line, command=command)
    words = [sys.executable, "-c", code]
    return subprocess.run(
        words, stdin=stdin, cwd=cwd, capture_output=True, text=True, check=True
    ).stdout.strip()


@pytest.mark.parametrize(
    ("line", "pasted"),
    [
        ("reap wall -- sort -n", "reap wall -- sort -n <'the input'"),
        ("reap record -- sort -n && reap show f", "reap record -- sort -n <'the input' && reap show f"),
        ("X=1 sort -n", "X=1 sort -n <'the input'"),
        ("reap doctor", "reap doctor"),
        ("", ""),
    ],
)
def test_a_file_is_given_to_the_measured_command(tmp_path, line, pasted):
    (tmp_path / "the input").write_text("2\n1\n")
    with (tmp_path / "the input").open() as stdin:
        assert told(line, ["sort", "-n"], stdin, tmp_path) == pasted
        assert told(line, [], stdin, tmp_path) == line


def test_from_elsewhere_the_file_has_its_whole_path_and_a_pipe_has_none(tmp_path):
    (tmp_path / "in").write_text("1\n")
    with (tmp_path / "in").open() as stdin:
        assert told("x -- sort", ["sort"], stdin, "/") == f"x -- sort <{tmp_path}/in"
    reader, writer = os.pipe()
    os.close(writer)
    assert told("x -- sort", ["sort"], reader, "/") == "x -- sort"
    os.close(reader)
    assert told("x -- sort", ["sort"], subprocess.DEVNULL, "/") == "x -- sort"


def test_the_next_command_reads_it(tmp_path):
    (tmp_path / "in").write_text("2\n1\n")
    with (tmp_path / "in").open() as stdin:
        done = reap("compare", "-n", "2", "-a", "glibc,reap", "--", "sort", "-n", stdin=stdin, cwd=tmp_path)
    assert done.stderr.splitlines()[-1] == "next: reap record -o sort.reap -- sort -n <in"
