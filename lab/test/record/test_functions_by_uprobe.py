"""Every function by which an allocator allocates is known to `reap record --via uprobe`, with its size."""

import subprocess

import pytest
from building import OUT, compiled
from causes import prefixed_jemalloc, static_mimalloc
from lab.test.record.outside import NEEDS_UPROBES, recorded
from programs import reap

from reap.allocators import catalog

pytestmark = NEEDS_UPROBES

PROGRAM = """
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    #define SITE(size, ...) __attribute__((noinline)) void take##size(void) {{ \\
        void *p; __VA_ARGS__; release(p); }}
    {declared}
    {sites}
    int main(void) {{
        for (int i = 0; i < 1500; i++) {{ {calls} usleep(200); }}
        return 0;
    }}"""

JEMALLOC = """
    void *je_malloc(size_t), *je_mallocx(size_t, int), *je_rallocx(void *, size_t, int);
    size_t je_xallocx(void *, size_t, size_t, int);
    void je_sdallocx(void *, size_t, int), je_dallocx(void *, int);
    static void release(void *p) { if (p) je_dallocx(p, 0); }"""
JEMALLOC_SITES = {
    1001: "p = je_malloc(1001)",
    2002: "p = je_mallocx(2002, 8)",
    3003: "static void *b; b = je_rallocx(b ? b : je_malloc(3003), 3003, 0); p = 0",
    4004: "static void *b; if (!b) b = je_malloc(4004); je_xallocx(b, 4004, 0, 0); p = 0",
}

MIMALLOC = """
    void *mi_malloc(size_t), *mi_zalloc_aligned(size_t, size_t), *mi_recalloc(void *, size_t, size_t);
    void *mi_malloc_aligned_at(size_t, size_t, size_t), *mi_realloc_aligned(void *, size_t, size_t);
    void *mi_new(size_t), *mi_new_n(size_t, size_t), *mi_new_aligned_nothrow(size_t, size_t);
    void *mi_mallocn(size_t, size_t), *mi_heap_malloc(void *, size_t), *mi_heap_main(void);
    void *mi_heap_calloc(void *, size_t, size_t), *mi_umalloc(size_t, size_t *);
    void mi_free(void *);
    static void release(void *p) { mi_free(p); }"""
MIMALLOC_SITES = {
    1001: "p = mi_malloc(1001)",
    1012: "p = mi_zalloc_aligned(1012, 64)",
    1023: "p = mi_recalloc(0, 11, 93)",
    1034: "p = mi_malloc_aligned_at(1034, 64, 8)",
    1045: "p = mi_realloc_aligned(0, 1045, 32)",
    1056: "p = mi_new(1056)",
    1067: "p = mi_new_n(11, 97)",
    1078: "p = mi_new_aligned_nothrow(1078, 64)",
    1089: "p = mi_mallocn(33, 33)",
    1100: "p = mi_heap_malloc(mi_heap_main(), 1100)",
    1111: "p = mi_heap_calloc(mi_heap_main(), 11, 101)",
    1122: "size_t usable; p = mi_umalloc(1122, &usable)",
}

TCMALLOC = """
    void *tc_malloc(size_t), *tc_new(size_t), *tc_newarray(size_t), *tc_memalign(size_t, size_t);
    void *tc_new_aligned(size_t, size_t), *tc_realloc(void *, size_t), *tc_calloc(size_t, size_t);
    void tc_delete_sized(void *, size_t), tc_free(void *);
    static void release(void *p) { tc_free(p); }"""
TCMALLOC_SITES = {
    1001: "p = tc_malloc(1001)",
    1012: "p = tc_new(1012)",
    1023: "p = tc_newarray(1023)",
    1034: "p = tc_memalign(64, 1034)",
    1045: "p = tc_new_aligned(1045, 64)",
    1056: "p = tc_realloc(0, 1056)",
    1067: "p = tc_calloc(11, 97)",
}

OTHERS = """
    static char heap[1 << 16];
    #define OWN __attribute__((noinline, used)) void *
    OWN sn_rust_alloc(size_t alignment, size_t size) { return heap + size; }
    OWN sn_rust_realloc(void *p, size_t alignment, size_t old, size_t size) { return heap + size + old; }
    OWN rpmalloc(size_t size) { return heap + size; }
    OWN rpaligned_calloc(size_t alignment, size_t count, size_t size) { return heap + count * size; }
    OWN rpaligned_realloc(void *p, size_t alignment, size_t size, size_t old, int f) { return heap + size; }
    OWN rpmalloc_heap_aligned_realloc(void *h, void *p, size_t a, size_t size, int f) { return heap + size; }
    OWN rpmalloc_heap_aligned_calloc(void *h, size_t a, size_t count, size_t n) { return heap + count * n; }
    __attribute__((noinline)) static void release(void *p) { *(volatile char *)heap = 1; }"""
OTHER_SITES = {
    1001: "p = sn_rust_alloc(8, 1001)",
    1012: "p = sn_rust_realloc(heap, 8, 500, 1012)",
    1023: "p = rpaligned_calloc(32, 11, 93)",
    1034: "p = rpaligned_realloc(heap, 32, 1034, 500, 0)",
    1045: "p = rpmalloc_heap_aligned_realloc(heap, heap, 32, 1045, 0)",
    1056: "p = rpmalloc_heap_aligned_calloc(heap, 32, 11, 96)",
}
"""snmalloc for Rust, and rpmalloc: no Debian package has either."""


def program(name, declared, sites, *libraries):
    text = PROGRAM.format(
        declared=declared,
        sites="\n".join(f"SITE({size}, {body})" for size, body in sites.items()),
        calls=" ".join(f"take{size}();" for size in sites),
    )
    command = ["gcc", "-x", "c", "-g", "-O1", "-w", "-fno-builtin", "-", "-x", "none", *libraries, "-o", OUT]
    return compiled(name, command, text=text)


def check_sizes(folder, path, sites):
    """Windows are samples, few of them of a short program: what one run misses another has."""
    found = {}
    for _ in range(4):
        done = reap("record", "--via", "uprobe", "-o", "v.reap", "--force", "--", path, cwd=folder)
        seen = recorded(done, folder / "v.reap")
        found |= {site.function: site.bytes / site.objects for site in seen.sites if site.objects}
        if found.keys() >= {f"take{size}" for size in sites}:
            break
    assert {size: found.get(f"take{size}") for size in sites} == {size: pytest.approx(size) for size in sites}


def test_jemalloc(tmp_path):
    try:
        archive = prefixed_jemalloc()
    except subprocess.CalledProcessError:
        pytest.skip("needs libjemalloc-dev")
    path = program(
        "je-functions", JEMALLOC, JEMALLOC_SITES, str(archive), "-ldl", "-lm", "-lstdc++", "-lpthread"
    )
    check_sizes(tmp_path, path, JEMALLOC_SITES)


def test_mimalloc(tmp_path):
    path = program("mi-functions", MIMALLOC, MIMALLOC_SITES, str(static_mimalloc()), "-lpthread")
    check_sizes(tmp_path, path, MIMALLOC_SITES)


def test_tcmalloc(tmp_path):
    library = catalog.find("tcmalloc").library
    check_sizes(tmp_path, program("tc-functions", TCMALLOC, TCMALLOC_SITES, library), TCMALLOC_SITES)


def test_snmalloc_and_rpmalloc(tmp_path):
    check_sizes(tmp_path, program("other-functions", OTHERS, OTHER_SITES), OTHER_SITES)
