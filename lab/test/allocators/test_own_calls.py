"""Allocators' own functions, such as mallocx and mi_malloc, are recorded where a shared library has them."""

import subprocess

import pytest
from building import OUT, compiled
from programs import reap
from recorded import Recorded, recorded

from reap.allocators import catalog

DECLARED = """
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    #include <sys/wait.h>
    void *mallocx(size_t, int) __attribute__((weak));
    void *rallocx(void *, size_t, int);
    size_t xallocx(void *, size_t, size_t, int);
    void dallocx(void *, int);
    void sdallocx(void *, size_t, int);
    void *mi_malloc(size_t);
    void *mi_calloc(size_t, size_t);
    void *mi_realloc(void *, size_t);
    void *mi_heap_new(void);
    void *mi_heap_malloc(void *, size_t);
    void mi_heap_destroy(void *);
    char *mi_strdup(const char *);
    int mi_posix_memalign(void **, size_t, size_t);
    void *mi_new_aligned(size_t, size_t);
    void mi_free(void *);
    static void *kept[1000];
"""
MIX = (
    DECLARED
    + """
    int main(void) {
        for (int i = 0; i < 1000; i++) { kept[i] = mallocx(1000, 0); memset(kept[i], 1, 1000); }
        for (int i = 0; i < 1000; i++) free(kept[i]);
        for (int i = 0; i < 500; i++) {
            void *p = malloc(200);
            memset(p, 1, 200);
            p = rallocx(p, 400, 0);
            if (((char *)p)[199] != 1) return 1;
            dallocx(p, 0);
        }
        for (int i = 0; i < 100; i++) kept[i] = malloc(50);
        for (int i = 0; i < 100; i++) sdallocx(kept[i], 50, 0);
        puts("said");
        return 3;
    }"""
)
MIMALLOC_MIX = (
    DECLARED
    + """
    int main(void) {
        for (int i = 0; i < 1000; i++) { kept[i] = mi_malloc(1001); memset(kept[i], 1, 1001); }
        for (int i = 0; i < 1000; i++) i % 2 ? mi_free(kept[i]) : free(kept[i]);
        for (int i = 0; i < 100; i++) {
            void *p = malloc(70);
            memset(p, 1, 70);
            mi_free(i % 2 ? mi_realloc(p, 2003) : p);
        }
        void *aligned;
        if (mi_posix_memalign(&aligned, 256, 777) || (size_t)aligned % 256) return 1;
        if (mi_posix_memalign(&aligned, 3, 777) == 0) return 1;
        mi_free(aligned);
        char *text = mi_strdup("four");
        if (strcmp(text, "four")) return 1;
        mi_free(text);
        mi_free(mi_calloc(3, 11));
        mi_free(mi_new_aligned(128, 128));
        mi_free(0);
        return 3;
    }"""
)


WANTS_ANOTHER = (
    DECLARED
    + """
    int main(void) {
        mi_free(mi_malloc(1001));
        void *heap = mi_heap_new();
        mi_heap_malloc(heap, 2002);
        mi_heap_destroy(heap);
        return 0;
    }"""
)
POINTERS = (
    DECLARED
    + """
    size_t sallocx(void *, int);
    void *(*volatile in_data)(size_t, int) = mallocx;
    static int resizes(size_t from, size_t to) {
        void *p = mallocx(from, 0);
        size_t before = sallocx(p, 0), after = xallocx(p, to, 0, 0);
        if (after != sallocx(p, 0)) exit(1);
        dallocx(p, 0);
        return after != before;
    }
    int main(void) {
        void *(*volatile taken)(size_t, int) = mallocx;
        dallocx(in_data(1001, 0), 0);
        dallocx(taken(2002, 8), 0); /* an alignment of 256 */
        if (mallocx((size_t)1 << 62, 0)) return 1;
        return 10 + resizes(100, 112) + resizes(20000, 15000) + resizes(200000, 90000);
    }"""
)
CHILDREN = (
    DECLARED
    + """
    int main(int count, char **words) {
        if (count == 1) {
            if (fork() == 0) execl("/proc/self/exe", words[0], "again", (char *)0);
            if (fork() == 0) {
                for (int i = 0; i < 20; i++) dallocx(mallocx(2002, 0), 0);
                _exit(0);
            }
            while (wait(0) > 0) {}
        }
        for (int i = 0; i < 10; i++) dallocx(mallocx(1001, 0), 0);
        return 0;
    }"""
)
WEAK = DECLARED + "int main(void) { free(malloc(10)); return mallocx ? 1 : 0; }"


def built(name: str, text: str, *flags: str, allocator: str = "") -> str:
    libraries = ["-x", "none", allocator] if allocator else []
    command = ["gcc", "-x", "c", "-g", "-O1", "-fno-builtin", *flags, "-", "-o", OUT, *libraries]
    return compiled(name + "".join(flags), command, text=text)


def library(allocator: str) -> str:
    return catalog.find(allocator).library


def objects_of(done: Recorded, *sizes: int) -> list[int]:
    """How many blocks of each of these sizes were allocated."""
    counted = {low: objects for low, _, objects, _ in done.recording.sizes()}
    return [counted.get(size, 0) for size in sizes]


@pytest.mark.parametrize("depth", ["triage", "full"])
@pytest.mark.parametrize("flags", [(), ("-no-pie", "-Wl,-z,lazy"), ("-Wl,-z,now",)], ids=" ".join)
def test_functions_of_jemalloc_are_recorded_as_malloc_is(tmp_path, depth, flags):
    program = built("jemalloc-mix", MIX, *flags, allocator=library("jemalloc"))
    done = recorded(tmp_path, depth, program)
    assert done.outcome.exit_code == 3
    assert objects_of(done, 1000, 200, 400, 50) == [1000, 500, 500, 100]
    assert (done.calls["free"], done.calls["realloc"]) == (1600, 500)
    assert done.profile.unrecorded_allocators == []


@pytest.mark.parametrize("depth", ["triage", "full"])
def test_functions_of_mimalloc_are_recorded_as_malloc_is(tmp_path, depth):
    program = built("mimalloc-mix", MIMALLOC_MIX, allocator=library("mimalloc"))
    done = recorded(tmp_path, depth, program)
    assert done.outcome.exit_code == 3
    assert objects_of(done, 1001, 70, 2003, 777, 5, 33, 128) == [1000, 100, 50, 1, 1, 1, 1]
    assert done.calls["free"] == 1104
    assert done.profile.unrecorded_allocators == []


EACH = """
    #include <stddef.h>
    #define P void *
    P mi_zalloc_small(size_t), *mi_malloc_aligned_at(size_t, size_t, size_t);
    P mi_calloc_aligned(size_t, size_t, size_t), *mi_recalloc(P, size_t, size_t);
    P mi_recalloc_aligned(P, size_t, size_t, size_t), *mi_heap_get_default(void);
    P mi_heap_malloc(P, size_t), *mi_heap_calloc_aligned(P, size_t, size_t, size_t);
    P mi_heap_realloc(P, P, size_t), *mi_heap_alloc_new(P, size_t), *mi_new_n(size_t, size_t);
    P mi_new_nothrow(size_t), *mi_valloc(size_t), *mi_strndup(P, size_t), *mi_heap_strdup(P, P);
    P tc_malloc(size_t), *tc_new(size_t), *tc_calloc(size_t, size_t);
    P tc_newarray_aligned_nothrow(size_t, size_t, P);
    int tc_posix_memalign(P *, size_t, size_t);
    void mi_free(P), tc_free(P), tc_delete(P), tc_deletearray_sized_aligned(P, size_t, size_t);
    int main(void) {
        P p;
        CALLS
        return 3;
    }"""
"""Functions of which the size is found in other ways."""
MIMALLOC_CALLS = {
    1001: "mi_zalloc_small(1001)",
    1012: "mi_malloc_aligned_at(1012, 64, 8)",
    1023: "mi_calloc_aligned(11, 93, 64)",
    1034: "mi_recalloc(0, 11, 94)",
    1045: "mi_recalloc_aligned(0, 11, 95, 64)",
    1056: "mi_heap_malloc(mi_heap_get_default(), 1056)",
    1067: "mi_heap_calloc_aligned(mi_heap_get_default(), 11, 97, 64)",
    1078: "mi_heap_realloc(mi_heap_get_default(), 0, 1078)",
    1089: "mi_heap_alloc_new(mi_heap_get_default(), 1089)",
    1100: "mi_new_n(11, 100)",
    1111: "mi_new_nothrow(1111)",
    1122: "mi_valloc(1122)",
    6: 'mi_strndup("five and more", 5)',
    4: 'mi_heap_strdup(mi_heap_get_default(), "two")',
}
TCMALLOC_CALLS = {
    1001: "tc_malloc(1001)",
    1012: "tc_new(1012)",
    1023: "tc_newarray_aligned_nothrow(1023, 64, 0)",
    1034: "tc_calloc(11, 94)",
    1045: "(tc_posix_memalign(&p, 64, 1045), p)",
}


@pytest.mark.parametrize(
    ("allocator", "calls", "frees"),
    [
        ("mimalloc", MIMALLOC_CALLS, ["mi_free(p)"]),
        (
            "tcmalloc",
            TCMALLOC_CALLS,
            ["tc_free(p)", "tc_delete(p)", "tc_deletearray_sized_aligned(p, 1023, 64)"],
        ),
    ],
)
def test_each_function_is_recorded_with_its_size(tmp_path, allocator, calls, frees):
    pairs = zip(calls.values(), [*frees, *[frees[0]] * len(calls)], strict=False)
    text = EACH.replace("CALLS", "\n".join(f"p = {call}; {free};" for call, free in pairs))
    done = recorded(tmp_path, "full", built(f"{allocator}-each", text, allocator=library(allocator)))
    assert done.outcome.exit_code == 3
    assert objects_of(done, *calls) == [1] * len(calls)
    assert done.calls["free"] + done.calls.get("operator delete", 0) == len(calls)
    assert done.profile.unrecorded_allocators == []


def test_no_block_of_theirs_counts_as_never_freed(tmp_path):
    done = recorded(tmp_path, "full", built("mimalloc-mix", MIMALLOC_MIX, allocator=library("mimalloc")))
    assert [each.objects for each in done.profile.lifetimes if each.high is None and each.objects] == []


def test_output_and_exit_code_are_those_of_the_program(tmp_path):
    program = built("jemalloc-mix", MIX, allocator=library("jemalloc"))
    alone = subprocess.run([program], capture_output=True, text=True, check=False)
    done = reap("record", "-o", str(tmp_path / "x.reap"), "--", program)
    assert (done.stdout, done.returncode) == (alone.stdout, alone.returncode) == ("said\n", 3)


@pytest.mark.parametrize("flags", [(), ("-no-pie",)], ids=" ".join)
def test_calls_by_pointer_alignments_resizes_and_failures(tmp_path, flags):
    program = built("pointers", POINTERS, *flags, allocator=library("jemalloc"))
    done = recorded(tmp_path, "full", program)
    resizes = done.calls.get("realloc", 0)
    assert done.outcome.exit_code == 10 + resizes
    assert objects_of(done, 1001, 2002, 100) == [1, 1, 1]
    assert (done.totals.failures, done.calls["free"]) == (1, 5)
    assert done.profile.unrecorded_allocators == []


def test_children_record_them_too(tmp_path):
    program = built("children", CHILDREN, allocator=library("jemalloc"))
    done = recorded(tmp_path, "full", program)
    assert objects_of(done, 1001, 2002) == [20, 20]
    assert done.profile.unrecorded_allocators == []


def test_a_program_without_the_allocator_sees_none(tmp_path):
    assert recorded(tmp_path, "full", built("weak", WEAK)).outcome.exit_code == 0


def test_an_allocator_whose_other_functions_are_called_is_named(tmp_path):
    """What frees a whole heap tells of no block."""
    program = built("another", WANTS_ANOTHER, allocator=library("mimalloc"))
    done = recorded(tmp_path, "full", program)
    assert objects_of(done, 1001, 2002) == [1, 1]
    assert [each.allocator for each in done.profile.unrecorded_allocators] == ["mimalloc"]


def test_a_function_of_cxx_with_such_a_name_is_none_of_them(tmp_path):
    text = """
        #include <stddef.h>
        void *mi_malloc(size_t);
        void mi_free(void *);
        int semi_new(void) __asm__("_Z8semi_newv") __attribute__((weak));
        int main(void) { mi_free(mi_malloc(1001)); return semi_new ? 1 : 0; }"""
    done = recorded(tmp_path, "full", built("cxx-name", text, allocator=library("mimalloc")))
    assert done.outcome.exit_code == 0
    assert objects_of(done, 1001) == [1]
    assert done.profile.unrecorded_allocators == []


def test_a_library_that_is_opened_later_and_calls_them_is_named(tmp_path):
    text = DECLARED + "void *opened(void) { return mallocx(3003, 0); }"
    opened = built("opened", text, "-shared", "-fPIC", allocator=library("jemalloc"))
    text = (
        DECLARED
        + """
        #include <dlfcn.h>
        int main(int count, char **words) {
            void *(*call)(void) = dlsym(dlopen(words[1], RTLD_NOW), "opened");
            kept[0] = call();
            dallocx(mallocx(1001, 0), 0);
            return kept[0] == 0;
        }"""
    )
    done = recorded(tmp_path, "full", built("opens", text, allocator=library("jemalloc")), opened)
    assert done.outcome.exit_code == 0
    assert objects_of(done, 1001, 3003) == [1, 0]
    assert [each.allocator for each in done.profile.unrecorded_allocators] == ["jemalloc"]
