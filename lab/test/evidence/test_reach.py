"""What a preload reaches of a program that has allocators in some of its files."""

import subprocess

import msgspec
from lab.test.evidence.measuring import measured, needs_perf
from walls import WALLS

from reap.evidence.analyse.reach import FEWEST_CALLED, unreachable, untriable
from reap.evidence.records import Linked, Wall

POOL = r"""
    #include <stddef.h>
    static char room[1 << 20];
    static size_t used;
    __attribute__((noinline)) void *mi_malloc(size_t size) {
        volatile int turns = 60;
        while (turns) --turns;
        used = used + size > sizeof room ? size : used + size;
        return room + used - size;
    }"""
USES = r"""
    #include <stdlib.h>
    void *mi_malloc(size_t size);
    int main(void) {
        for (int i = 0; i < 3000000; i++) {
            *(char *)mi_malloc(64) = 1;
            char *volatile block = malloc(64);
            free(block);
        }
    }"""


def having(linked: Linked, **changes: object) -> Wall:
    wall = WALLS["many allocations"]
    return msgspec.structs.replace(wall, linked=[linked], owners={"other": 100}, **changes)


def linked(*, library: bool = True) -> Linked:
    return Linked(
        module="/lib/libpool.so", allocator="mimalloc", how="text", seen=False, samples=50, library=library
    )


def test_beside_the_allocator_of_a_library_malloc_is_tried() -> None:
    assert unreachable(having(linked())).startswith("mimalloc is linked into libpool.so")
    assert untriable(having(linked())) == ""
    assert "libpool.so" in untriable(having(linked(library=False)))
    assert untriable(having(linked(), irreplaceable="it is static")) == "it is static"


def test_where_malloc_is_hardly_called_nothing_is_tried() -> None:
    wall = having(linked())
    assert wall.counted is not None
    few = msgspec.structs.replace(wall.counted, allocations=round(0.9 * FEWEST_CALLED * wall.cpu_seconds))
    assert "libpool.so" in untriable(msgspec.structs.replace(wall, counted=few))
    assert "libpool.so" in untriable(msgspec.structs.replace(wall, counted=None))


@needs_perf
def test_a_library_with_an_allocator_is_told_from_the_program(tmp_path):
    pool, program = tmp_path / "libpool.so", tmp_path / "uses-pool"
    build = ["gcc", "-x", "c", "-g", "-O1", "-fno-builtin", "-w", "-"]
    subprocess.run([*build, "-shared", "-fPIC", "-o", pool], input=POOL, text=True, check=True)
    subprocess.run([*build, "-x", "none", pool, "-o", program], input=USES, text=True, check=True)
    wall = measured(tmp_path, str(program)).wall
    (found,) = wall.linked
    assert found.library
    assert found.allocator == "mimalloc"
    assert untriable(wall) == ""
