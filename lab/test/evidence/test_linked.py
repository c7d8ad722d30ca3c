"""Which samples may be of an allocator that is linked in, and what gives one away that has no names."""

import pytest
from building import OUT, compiled
from lab.test.evidence.test_owners import sample
from msgspec.structs import replace
from samples import share_of

from reap.allocators import catalog
from reap.answer import labels, words
from reap.evidence import linked
from reap.evidence.records import Linked

MIB = 1 << 20


def found(*, counted=None, fresh=0, rows=(), files=()):
    return linked.find(files, "/usr/bin/perl", rows, counted=counted, fresh=fresh)


@pytest.mark.parametrize(
    ("counted", "fresh", "pooled"),
    [
        (10 * MIB, 100 * MIB, True),  # nine tenths of its pages are not malloc's
        (60 * MIB, 100 * MIB, False),
        (1 * MIB, 30 * MIB, False),  # too little to say
        (None, 100 * MIB, False),  # a program whose calls are not counted
    ],
)
def test_memory_that_malloc_did_not_serve_gives_an_allocator_away(counted, fresh, pooled):
    seen = found(counted=counted, fresh=fresh, rows=[sample(path="/usr/bin/perl", count=30)])
    assert [(each.allocator, each.how, each.seen, each.samples) for each in seen] == (
        [("unknown", "memory", False, 30)] if pooled else []
    )


def test_a_program_with_names_shows_by_them_what_its_memory_is():
    path = compiled("pool", ["gcc", "-x", "c", "-", "-o", OUT], text="int main(void) { return 0; }")
    assert linked.find([], path, [], counted=0, fresh=100 * MIB) == []


def test_a_static_program_without_names_has_whatever_malloc_it_calls():
    """Of one that does nothing but allocate, `0 % of its CPU time in the allocator` was said."""
    text = "#include <stdlib.h>\nint main(void) { free(malloc(1)); }"
    named = compiled("static", ["gcc", "-x", "c", "-", "-static", "-o", OUT], text=text)
    stripped = compiled("static-stripped", ["strip", "-o", OUT, named])
    rows = [sample(path=stripped, count=30)]
    (seen,) = linked.find([], stripped, rows, counted=None, fresh=0)
    assert (seen.allocator, seen.how, seen.seen, seen.samples) == ("glibc", "static", False, 30)
    share = linked.bounded(share_of(0.0, 0.01, 500), [seen])
    assert "is unknown" in words.share(share)
    assert all(each.how != "static" for each in linked.find([], named, rows, counted=None, fresh=0))
    collected = [sample("runtime.gcDrain", path=stripped)]
    assert linked.find([], stripped, collected, counted=None, fresh=0) == []


def test_the_heap_of_a_collector_is_no_linked_allocator():
    assert found(counted=0, fresh=100 * MIB, rows=[sample("runtime.gcDrain")]) == []


def test_a_library_that_is_an_allocator_as_a_whole_is_not_linked_in():
    assert found(files=[catalog.find("jemalloc").library, "[vdso]", "//anon"]) == []


def test_a_share_is_a_lower_bound_only_where_samples_may_be_an_unseen_allocator_s():
    share = share_of(0.0, 0.02, 500)
    unseen = Linked(module="/x", allocator="jemalloc", how="text", seen=False, samples=400)
    elsewhere = Linked(module="/y", allocator="jemalloc", how="text", seen=False)
    named = Linked(module="/x", allocator="jemalloc", how="symbols", seen=True, samples=400)
    assert linked.bounded(share, [unseen]).lower_bound
    assert not linked.bounded(share, [elsewhere, named]).lower_bound
    assert linked.bounded(None, [unseen]) is None


def test_a_lower_bound_is_printed_as_one():
    known = share_of(0.2, 0.02, 500)
    assert labels.share_figure(known) == "20 %"
    assert labels.share_how(known).startswith("95 % CI")
    assert labels.share_figure(replace(known, lower_bound=True)) == "at least 18.0 %"
    assert "spent at least 18.0 % of its CPU time" in words.share(replace(known, lower_bound=True))
    nothing = replace(share_of(0.0, 0.0, 500), lower_bound=True)
    assert labels.share_figure(nothing) == "unknown"
    assert "is unknown" in words.share(nothing)


def test_who_serves_malloc_has_the_allocator_s_name_and_not_its_file_s():
    here = Linked(module="/usr/bin/server", allocator="jemalloc", how="symbols", seen=True)
    assert linked.name_of("server", [here]) == "jemalloc"
    assert linked.name_of("glibc", [here]) == "glibc"
    unknown = Linked(module="/usr/bin/server", allocator="unknown", how="symbols", seen=True)
    assert linked.name_of("server", [unknown]) == "server"
