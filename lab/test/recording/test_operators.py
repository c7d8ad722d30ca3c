"""operator new and delete, under an allocator without its own and under those that bring them."""

import pytest
from recorded import recorded, target

from reap.allocators import catalog
from reap.allocators.records import Allocator

TURNS = 200
PLAIN = (40, 41, 42, 43, 44, 45)
ALIGNED = (256, 384, 512, 640, 768, 896)


def library(name):
    if name == "glibc":
        return ""
    found = catalog.find(name)
    assert isinstance(found, Allocator)
    return found.library


def counted(done):
    """Objects by size, for the sizes that the program asks for."""
    return {low: objects for low, _, objects, _ in done.recording.sizes() if low in (*PLAIN, *ALIGNED)}


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("allocator", ["glibc", "jemalloc", "mimalloc", "tcmalloc"])
def test_operators_are_counted_once_whoever_serves_them(tmp_path, depth, allocator):
    # mimalloc, built as C, ends a program whose operator new would have to throw.
    throws = [] if allocator == "mimalloc" else ["throws"]
    done = recorded(tmp_path, depth, target("operators"), str(TURNS), *throws, allocator=library(allocator))
    assert done.outcome.status == 0, done.outcome
    assert counted(done) == dict.fromkeys((*PLAIN, *ALIGNED), TURNS)
    assert done.totals.skipped == 0
    # What else the process allocates is the C++ runtime's and the allocator's start; nothing is doubled.
    assert 0 <= done.objects - 12 * TURNS < 100
    assert 0 <= done.totals.frees - 12 * TURNS < 100
    if allocator != "glibc":
        assert done.calls["operator new"] >= 6 * TURNS
