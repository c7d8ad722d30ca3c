"""Another allocator takes the place of one that is linked into a program, which notices nothing."""

import os
import tempfile
from pathlib import Path

import pytest
from building import OUT, compiled
from causes import JEMALLOC, Linked, known_program, static_mimalloc
from msgspec.structs import replace
from programs import compile_c

from reap.allocators import catalog
from reap.allocators.records import Allocator
from reap.launch import native_files, spawn
from reap.launch.linked import redirect
from reap.launch.program import resolve
from reap.launch.records import Launch

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="the jumps are found on x86-64 alone")

BUILDS: tuple[tuple[str, Linked, tuple[str, ...]], ...] = (
    ("linked.cpp", "jemalloc", ("pool", "ledger")),
    ("linked.cpp", "prefixed", ("fields", "passes")),
    ("linked.cpp", "mimalloc", ("fields", "ledger")),
    ("linked.rs", "prefixed", ("vectors", "scripts")),
)

OWN = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static _Alignas(16) char area[2][1 << 16];
static size_t used[2];
static void *from(int which, size_t size) {
    void *block = area[which] + used[which];
    used[which] += (size + 15) & ~(size_t)15;
    return block;
}
static int is_of(int which, void *block) {
    return (char *)block >= area[which] && (char *)block < area[which] + sizeof area[which];
}
void *rpmalloc(size_t size) { return from(0, size); }
void rpfree(void *block) { memset(block, 0, 1); }
void *pool_malloc(size_t size) { return from(1, size); }
void pool_free(void *block) { memset(block, 0, 1); }
int main(int count, char **words) {
    char *one = rpmalloc(100), *other = pool_malloc(100), *third = malloc(100);
    printf("%d %d %d\\n", is_of(0, one), is_of(1, other), is_of(0, third));
    rpfree(one), pool_free(other), free(third);
    fflush(stdout);
    return count > 1 ? system(words[1]) : 0;
}
"""
"""Has an allocator of rpmalloc's names, and one of its own."""


OF_HEAPS = """
#include <stdio.h>
#include <string.h>
void *mi_heap_new(void), *mi_heap_malloc(void *, size_t), *mi_heap_calloc(void *, size_t, size_t);
void *mi_heap_realloc(void *, void *, size_t), *mi_recalloc_aligned(void *, size_t, size_t, size_t);
void mi_free(void *), mi_heap_delete(void *), mi_heap_destroy(void *);
int main(void) {
    int blocks = 0;
    void *heap = mi_heap_new();
    for (int i = 1; i < 3334; i++) {
        char *one = mi_heap_malloc(heap, i), *other = mi_heap_calloc(heap, i, 3);
        char *third = mi_recalloc_aligned(0, i, 2, 64);
        memset(one, 1, i), memset(other, 1, 3 * i), memset(third, 1, 2 * i);
        one = mi_heap_realloc(heap, one, 2 * i);
        blocks += one[i - 1] + other[3 * i - 1] + third[i];
        mi_free(one), mi_free(other), mi_free(third);
    }
    END(heap);
    printf("%d\\n", blocks);
}
"""
"""Allocates from a first-class heap of mimalloc."""


def built(source: str, linked: Linked, *, stripped: bool = False) -> str:
    if linked in {"jemalloc", "prefixed"} and not JEMALLOC.exists():
        pytest.skip("needs libjemalloc-dev")
    return known_program(source, linked, stripped=stripped)


def price(name: str) -> str:
    return str(native_files.preload(f"price-{name}"))


@pytest.mark.parametrize(("source", "linked", "modes"), BUILDS, ids=str)
def test_the_program_does_the_same_under_another_allocator(
    source: str, linked: Linked, modes: tuple[str, ...]
) -> None:
    program = built(source, linked)
    found = [catalog.find(name) for name in ("mimalloc", "jemalloc", "tcmalloc")]
    libraries = [each.library for each in found if isinstance(each, Allocator)]
    for mode in modes:
        argv = [program, mode, "0.02"]
        own = spawn.run(Launch(argv=argv, program=program))
        assert own.status == 0
        for library in [*libraries, price("recycle"), price("placed")]:
            outcome = spawn.run(Launch(argv=argv, program=program, allocator=library))
            assert (outcome.status, outcome.stdout_digest) == (0, own.stdout_digest), library


@pytest.mark.parametrize(("source", "linked", "modes"), BUILDS, ids=str)
def test_its_blocks_come_from_the_other_allocator(
    source: str, linked: Linked, modes: tuple[str, ...]
) -> None:
    """A malloc that never reuses memory says how much it was asked for."""
    program = built(source, linked)
    argv = [program, modes[0], "0.02"]
    outcome = spawn.run(Launch(argv=argv, program=program, allocator=price("bump")))
    assert outcome.ahead is not None
    assert outcome.ahead.bytes > 1 << 20


@pytest.mark.parametrize(("end", "aside"), [("mi_heap_delete", "mimalloc"), ("mi_heap_destroy", "")])
def test_heaps_are_served_unless_one_is_freed_with_its_blocks(end: str, aside: str) -> None:
    """Freed by another allocator its blocks ended the program: `None gained` was said of these trials."""
    built_in = [str(static_mimalloc()), "-lpthread", f"-DEND={end}"]
    command = ["gcc", "-x", "c", "-O1", "-w", "-", "-x", "none", *built_in, "-o", OUT]
    program = compiled(end, command, text=OF_HEAPS)
    assert resolve([program]).stands_aside == aside
    found = catalog.find("jemalloc")
    assert isinstance(found, Allocator)
    for library in ("", found.library, price("recycle")):
        assert output(Launch(argv=[program], program=program, allocator=library)) == b"9999\n", library
    outcome = spawn.run(Launch(argv=[program], program=program, allocator=price("bump")))
    assert ((outcome.ahead.bytes if outcome.ahead else 0) > 10 << 20) == bool(aside)


def test_only_the_allocators_own_functions_are_redirected() -> None:
    program = compile_c("own_and_pool", OWN, ["-O0"])
    found = redirect.find(program)
    assert found is not None
    assert (found.allocator, found.own_malloc) == ("rpmalloc", False)
    assert sorted(name for name, _ in found.functions) == ["free", "malloc"]
    for library, printed in (("", b"1 1 0\n"), (price("recycle"), b"0 1 0\n")):
        assert output(Launch(argv=[program], program=program, allocator=library)) == printed


def test_a_child_of_another_program_is_left_alone() -> None:
    program = compile_c("own_and_pool", OWN, ["-O0"])
    argv = [program, "cat /proc/version > /dev/null && echo done"]
    assert output(Launch(argv=argv, program=program, allocator=price("recycle"))) == b"0 1 0\ndone\n"


def output(launch: Launch) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder) / "kept"
        outcome = spawn.run(replace(launch, keep=str(kept)))
        assert outcome.status == 0
        return kept.read_bytes()


def test_without_names_nothing_stands_aside() -> None:
    stripped = built("linked.cpp", "mimalloc", stripped=True)
    assert redirect.find(stripped) is None
    assert not resolve([stripped, "pool"]).stands_aside
    assert redirect.find("/bin/true") is None
    assert redirect.find("/nonexistent") is None


def test_a_damaged_instruction_ends_the_run_instead_of_measuring_nothing() -> None:
    program = compile_c("own_and_pool", OWN, ["-O0"])
    found = redirect.find(program)
    assert found is not None
    told = found.variables(price("recycle"))
    assert set(told) == {redirect.VARIABLE}
    for damaged in (told[redirect.VARIABLE].replace("free=", "freed="), told[redirect.VARIABLE] + "malloc"):
        launch = Launch(
            argv=[program],
            program=program,
            preloads=[price("recycle"), str(native_files.preload("redirect"))],
            environment={redirect.VARIABLE: damaged},
        )
        assert spawn.run(launch).status == 125
