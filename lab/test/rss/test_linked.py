"""Allocators beside the one that serves malloc, and huge pages: each has its part of the account."""

from pathlib import Path

import pytest
from building import OUT, compiled
from causes import JEMALLOC, prefixed_jemalloc
from lab.test.rss.test_rss import MB, held_open, library_of
from programs import reap
from recorded import TARGETS, target

from reap.launch.process import areas, huge, mapped
from reap.rss.linked import Search

FUNCTIONS = {
    "tcmalloc": ("tc_malloc", "tc_free"),
    "mimalloc": ("mi_malloc", "mi_free"),
}
ARCHIVE = pytest.mark.skipif(not JEMALLOC.exists(), reason="libjemalloc-dev is not installed")


def prefixed(*, stripped=False):
    """The program with jemalloc linked in under names that begin with je_."""
    options = ["-g", "-O1", "-fno-builtin", "-pthread", "-DHOLDS_PREFIXED"]
    archive = [str(prefixed_jemalloc()), "-ldl", "-lm"]
    whole = compiled("holds-prefixed", ["gcc", *options, TARGETS / "residence/holds.c", "-o", OUT, *archive])
    return compiled("holds-stripped", ["strip", "-o", OUT, whole]) if stripped else whole


def often(name, least, looks=10):
    """Not at once: files are searched, and our thread in the program is asked in turn."""
    seen = set()

    def reached(row):
        if row[name] >= least:
            seen.add(row["seconds"])
        return len(seen) >= looks

    return reached


def owner_of(results):
    (owner,) = results["processes"][0]["moments"][-1]["linked"]
    return owner


# jemalloc cannot be loaded so: it has no room for what it keeps for each thread.
@pytest.mark.parametrize(("allocator", "name"), [("tcmalloc", "live"), ("mimalloc", "heap")])
def test_an_allocator_beside_glibc_has_its_part(tmp_path, allocator, name):
    words = (target("residence/holds"), library_of(allocator), *FUNCTIONS[allocator])
    least = 60 * MB if name == "heap" else 75 * MB
    results, said = held_open(*words, until=often(name, least), folder=tmp_path)
    first, owner = results["processes"][0], owner_of(results)
    assert (first["allocator"], owner["allocator"], owner["asked"]) == ("glibc", allocator, True)
    assert 60 * MB < owner[name] < 75 * MB
    parts = first["moments"][-1]["parts"]
    assert parts["live"] >= 16 * MB
    assert parts["other"] < 0.05 * first["moments"][-1]["resident"]
    assert results["verdict"]["cause"] == name
    sentences = " ".join(results["verdict"]["sentences"])
    assert allocator in sentences
    assert Path(library_of(allocator)).resolve().name in sentences
    assert f"figures from the kernel and glibc and {allocator}" in " ".join(said.split())


@ARCHIVE
def test_the_variable_of_a_prefixed_jemalloc_is_named(tmp_path):
    words = (prefixed(), "-", "-", "-", "frees")
    results, said = held_open(*words, until=often("held", 50 * MB), folder=tmp_path)
    assert results["verdict"]["cause"] == "held"
    assert "jemalloc (linked into holds-prefixed)" in " ".join(results["verdict"]["sentences"])
    assert set(results["verdict"]["remedies"][0]["environment"]) == {"JE_MALLOC_CONF"}
    assert "JE_MALLOC_CONF=background_thread:true" in said.replace("\n", " ")


@ARCHIVE
def test_an_allocator_without_names_is_named_all_the_same(tmp_path):
    results, _ = held_open(
        prefixed(stripped=True), "-", "-", "-", until=often("other", 60 * MB), folder=tmp_path
    )
    sentences = " ".join(results["verdict"]["sentences"])
    assert results["verdict"]["cause"] == "other"
    assert (
        "jemalloc (linked into holds-stripped, stripped of its names) may hold a part: it cannot be asked"
        in sentences
    )
    assert "no malloc accounts for" not in sentences


@ARCHIVE
def test_from_outside_an_allocator_is_named_and_not_asked(tmp_path):
    words = (prefixed(), "-", "-", "-")
    results, _ = held_open(*words, until=often("other", 60 * MB), folder=tmp_path, options=["--no-ask"])
    said = " ".join(results["verdict"]["sentences"])
    assert "jemalloc (linked into holds-prefixed) may hold a part: it cannot be asked" in said


@pytest.mark.parametrize("allocator", list(FUNCTIONS))
def test_no_library_is_asked_while_it_is_unloaded(tmp_path, allocator):
    """Its file goes away and comes back again and again, and our thread may have data of its own there."""
    words = [target("residence/holds"), library_of(allocator), *FUNCTIONS[allocator], "reopens"]
    done = reap("rss", "--interval", "0.005", "-o", str(tmp_path / "rows.csv"), "--", *words)
    assert (done.returncode, done.stdout) == (0, "reopened\n"), done.stderr


@ARCHIVE
def test_forks_beside_the_asking_of_a_linked_allocator_go_well(tmp_path):
    """Some fork meets the asking, under whatever locks that it takes."""
    words = [prefixed(), "-", "-", "-", "forks"]
    done = reap("rss", "--interval", "0.005", "-o", str(tmp_path / "rows.csv"), "--", *words)
    assert (done.returncode, done.stdout) == (0, "forked\n"), done.stderr


def test_zero_pages_inside_huge_pages_are_found(tmp_path):
    if "[never]" in Path("/sys/kernel/mm/transparent_hugepage/enabled").read_text():
        pytest.skip("huge pages are off on this machine")
    words = (target("residence/holds"), "-", "-", "-", "huge")
    results, said = held_open(*words, until=often("zeros", 55 * MB), folder=tmp_path)
    last = results["processes"][0]["moments"][-1]
    assert results["verdict"]["cause"] == "zeros"
    assert last["huge"] >= 64 * MB
    assert 0.9 * 64 * MB < last["parts"]["zeros"] <= 64 * MB
    assert 16 * MB < last["parts"]["live"] < 24 * MB
    assert "PR_SET_THP_DISABLE" in said


def test_mappings_that_were_not_read_again_are_not_searched(monkeypatch):
    """The process may have unloaded a library since, and would be asked to call what is there no more."""
    searched = []
    monkeypatch.setattr(mapped, "find", lambda pid, _: searched.append(pid) or [])
    search, text = Search(), "1000-2000 r-xp 00000000 00:01 7 /lib/one.so\n"
    again = "".join(list(text))
    for now, mappings in ((0.0, text), (5.0, text), (9.0, again)):
        assert search.look(1, mappings, 64 * MB, None, None, now) == []
    assert len(searched) == 2


def test_zero_pages_of_an_owner_are_its_own():
    """A heap of a runtime in huge pages has nothing to be sampled; half of one, half."""
    area = areas.parse(
        "7000000000-7004000000 rw-p 00000000 00:00 0\nRss: 65536 kB\nAnonymous: 65536 kB\n"
        "AnonHugePages: 65536 kB\n"
    )
    assert huge.owned_apart(area, {0x7000000000: {"java": 64 * MB}}) == {True: [], False: []}
    found = huge.owned_apart(area, {0x7000000000: {"python": 16 * MB, "arenas": 48 * MB}})
    assert found == {True: [], False: [(0x7000000000, 0x7004000000, 48 * MB)]}
