"""`reap record` watches allocators in libraries, and in programs that others start."""

import functools
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from building import OUT, compiled, session_folder
from lab.test.record.outside import NEEDS_UPROBES, recorded
from programs import reap, reap_command

HERE = Path(__file__).parent
ROUNDS = 4000
"""Rounds of at least 0.2 ms, so that probes are set long before the end."""


@functools.cache
def library():
    words = ["gcc", "-g", "-O1", "-w", "-shared", "-fPIC", "-fvisibility=hidden", HERE / "own_heap.c"]
    return compiled("libownheap.so", [*words, "-o", OUT])


@functools.cache
def opening():
    return compiled("opens", ["gcc", "-O1", "-w", HERE / "opens.c", "-o", OUT])


@functools.cache
def linked():
    """Not kept for other sessions: the path of the library is in it."""
    path = session_folder() / "is-linked"
    rpath = f"-Wl,--no-as-needed,-rpath,{Path(library()).parent}"
    subprocess.run(["gcc", "-O1", "-w", HERE / "opens.c", rpath, library(), "-o", path], check=True)
    return str(path)


def record(folder, *command):
    return reap("record", "-o", "v.reap", "--", *command, cwd=folder)


def of_library(folder, done):
    """Linked calls of a recording, which are all of the library."""
    assert (done.returncode, done.stdout) == (3, "<jemalloc>: Error\n"), done.stderr
    seen = recorded(done, folder / "v.reap")
    assert "note: calls of jemalloc in libownheap.so are estimated by uprobes" in done.stderr
    assert seen.linked is not None
    assert [site.function for site in seen.linked.sites] == ["keep"]
    assert not any("keep" in site.function for site in seen.sites)
    return seen.linked


@NEEDS_UPROBES[0]
@NEEDS_UPROBES[1]
class TestWatched:
    def test_a_linked_library_from_the_first_instruction_on(self, tmp_path):
        seen = of_library(tmp_path, record(tmp_path, linked(), "-", "1500"))
        assert seen.attached.from_start
        assert "The allocator was watched by uprobes from the program's start: " in seen.notes[0]
        assert seen.objects == pytest.approx(1500, rel=0.05 if seen.attached.share > 0.99 else 1.0)

    def test_a_library_that_is_opened_later(self, tmp_path):
        done = record(tmp_path, opening(), library(), str(ROUNDS))
        seen = of_library(tmp_path, done)
        assert seen.objects > 0
        assert not seen.attached.from_start
        assert seen.attached.share < 1  # what was missed before is not covered
        assert "from some tenths of a second after it was loaded: " in seen.notes[0]
        shown = reap("show", "v.reap", cwd=tmp_path).stdout
        assert "running process" not in shown
        assert "older than the recording" not in shown
        assert " of the time: each that met a probe cost" in done.stderr

    def test_an_allocator_that_is_never_called(self, tmp_path):
        """As in DuckDB: `each that met a probe cost 2.52 ms`, of none."""
        done = record(tmp_path, opening(), library(), "0", "1000000")
        assert recorded(done, tmp_path / "v.reap").linked.objects == 0
        assert "estimated by uprobes" in done.stderr
        assert ": none met a probe; the probes cost" in done.stderr

    @pytest.mark.parametrize("before", [["sh", "-c", '"$@"; exit $?', "sh"], ["env", "A=1"]])
    def test_a_program_that_another_starts(self, tmp_path, before):
        of_library(tmp_path, record(tmp_path, *before, linked(), "-", str(ROUNDS)))

    def test_a_script_that_starts_it_again_and_again(self, tmp_path):
        line = f"for i in 1 2 3; do {shlex.quote(linked())} - 1000; done; exit 3"
        done = record(tmp_path, "sh", "-c", line)
        assert done.stdout == "<jemalloc>: Error\n" * 3
        assert recorded(done, tmp_path / "v.reap").linked.objects > 0


def test_nothing_is_said_of_a_program_without_one(tmp_path):
    done = record(tmp_path, "sh", "-c", "cat /dev/null; echo here")
    assert (done.returncode, done.stdout) == (0, "here\n")
    assert "uprobes" not in done.stderr
    assert recorded(done, tmp_path / "v.reap").linked is None


@pytest.mark.parametrize("program", [linked, opening])
def test_without_rights_the_library_is_named_with_what_that_means(tmp_path, program):
    bare = ["setpriv", "--bounding-set=-sys_admin,-perfmon,-bpf"] if os.geteuid() == 0 else []
    words = [*bare, *reap_command(), "record", "-o", "v.reap", "--", program(), library(), "500"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "<jemalloc>: Error\n"), done.stderr
    assert "note: calls of jemalloc in libownheap.so are not recorded: " in done.stderr
