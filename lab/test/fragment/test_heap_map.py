"""Where a program's blocks lie: in a row on a clean heap, in the gaps of a littered one."""

import json
import subprocess

import msgspec
import pytest
from lab.test.fragment.test_fragment import PROFILE, litter
from programs import compile_c, program, reap

from reap.allocators import catalog
from reap.base.errors import ReapError
from reap.fragment import heap_map
from reap.fragment.heap_map import PAGE, HeapCell, HeapMap
from reap.fragment.words import index
from reap.launch.records import Launch

# Five thousand blocks in use, and as many that come and go before them.
BLOCKS = r"""
    #include <stdlib.h>
    int main(void) {
        for (int i = 0; i < 5000; i++) free(malloc(100));
        for (int i = 0; i < 5000; i++) *(char *)malloc(100) = 1;
        return 0;
    }"""


def mapped(level: str | tuple[float, float], allocator: str = "glibc", **changes: object) -> HeapMap:
    target = compile_c("blocks", BLOCKS, ["-O1", "-fno-builtin"])
    how = litter(level, sizes=[(100, 1)], peak=5000, **changes)
    library = catalog.parse(allocator)[0].library
    return heap_map.take(Launch(argv=[target], program=target, allocator=library), how)


@pytest.mark.parametrize("allocator", ["glibc", "jemalloc", "mimalloc", "tcmalloc"])
def test_blocks_lie_in_a_row_on_a_clean_heap_and_apart_on_a_littered_one(allocator):
    clean, apart = mapped("adv0", allocator), mapped("adv3", allocator)
    for heap in (clean, apart):
        assert 5000 <= heap.program_objects < 5010
        assert 500_000 <= heap.program_bytes < 700_000
        assert 10_000 <= heap.allocations < 10_020
        assert sum(cell.pages for cell in heap.cells) == heap.pages
        assert sum(cell.program for cell in heap.cells) == heap.program_bytes
        assert len(heap.cells) <= heap_map.CELLS
    assert (clean.litter_bytes, clean.litter_pages) == (0, 0)
    assert apart.litter_bytes == 9900 * 100, "a third of the litter is the program's to use"
    assert clean.longest_run > 20 * apart.mean_run
    assert apart.program_pages > 1.5 * clean.program_pages
    assert apart.density < 0.7 * clean.density


def test_on_glibc_they_lie_in_gaps_one_by_one():
    heap = mapped("adv3")
    assert heap.mean_run < 2.5, "half of its blocks come and go at one place"
    assert mapped("adv0").longest_run > 4000


def test_fault_8_on_a_heap_of_which_everything_was_given_back_blocks_lie_in_a_row_again():
    heap = mapped((10, 0))
    assert heap.litter_bytes == 0
    assert heap.longest_run > 1000, "but for the seven that the thread's cache keeps, as on a clean one"


def test_of_threads_the_litter_of_each_is_litter():
    heap = mapped("adv1", threads=3)
    assert heap.litter_bytes == pytest.approx(5000 / 3 * 0.33 * 100, rel=0.01), "no other thread came"


def a_map(**changes: object) -> HeapMap:
    cells = [HeapCell(litter=8192, program=0, pages=4), HeapCell(litter=0, program=16384, pages=4)]
    fields = {
        "cells": cells * 100,
        "pages": 800,
        "program_pages": 400,
        "litter_pages": 400,
        "litter_bytes": 819_200,
        "program_bytes": 1_638_400,
        "program_objects": 10_000,
        "allocations": 12_000,
        "runs": 6000,
        "longest_run": 70,
    }
    return HeapMap(**{**fields, **changes})


def test_the_index_says_how_full_pages_are_and_how_long_runs():
    heap = a_map()
    assert (heap.density, heap.fill, heap.mean_run) == (1.0, 0.75, 2.0)
    said = index(heap)
    for words in (
        "10.0 k blocks",
        "on 400 pages",
        "100 % full",
        "75 % full",
        "2 blocks in a row",
        "70 at most",
    ):
        assert words in said, words
    empty = a_map(cells=[], pages=0, program_pages=0, runs=0)
    assert (empty.density, empty.fill, empty.mean_run) == (0, 0, 0)


def test_the_command_draws_a_map_and_runs_the_program_once_more(tmp_path):
    profile, target = tmp_path / "p.json", tmp_path / "ran"
    profile.write_text(json.dumps(PROFILE))
    script = tmp_path / "run.sh"
    script.write_text(f"#!/bin/sh\necho run >> {target}\ncat\n{program('busy')}\n")
    script.chmod(0o755)
    words = [
        "fragment",
        "--litter",
        f"profile={profile}",
        "--map",
        "--json",
        "m.json",
        "--",
        str(script),
    ]
    done = reap(*words, cwd=tmp_path, stdin=None, input="words\n")
    assert done.returncode == 0, done.stderr
    free = subprocess.run([program("busy")], capture_output=True, text=True, check=True).stdout
    assert done.stdout == "words\n" + free, "what it says the second time is not shown"
    assert target.read_text() == "run\n" * 2
    assert "blocks in a row on average" in " ".join(done.stderr.split())
    heap = msgspec.convert(json.loads((tmp_path / "m.json").read_text())["heap"], HeapMap)
    assert heap.litter_bytes > 1_000_000
    again = reap(*words, cwd=tmp_path)
    assert "exists already" in again.stderr
    assert target.read_text() == "run\n" * 2


def test_a_program_that_does_not_end_is_not_mapped():
    how = litter("adv1")
    with pytest.raises(ReapError, match="did not end in time while its heap was mapped"):
        heap_map.take(Launch(argv=["sleep", "9"], program="/bin/sleep", timeout=0.3), how)


def test_pages_are_those_of_the_native_part():
    assert PAGE == 4096
