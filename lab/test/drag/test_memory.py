"""The exact drag engine as an allocator: what it needs itself, and that blocks are what malloc promises."""

import pytest
from lab.test.drag.test_drag import drag
from programs import compile_c

FLAGS = ["-O1", "-fno-builtin"]
COUNT = 400_000

# Blocks of 16 bytes and nothing else, or as many objects in one block: says the resident KiB that this took,
# once every other block was freed and allocated again; and what is left when all but a few are free again.
TINY = r"""
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    #include <unistd.h>
    #include <valgrind/valgrind.h>
    static long resident(void) {
        static FILE *file;
        long pages = 0;
        if (!file) file = fopen("/proc/self/statm", "r");
        rewind(file);
        fflush(file);
        if (fscanf(file, "%*d %ld", &pages) != 1) exit(3);
        return pages * (sysconf(_SC_PAGESIZE) / 1024);
    }
    int main(int words, char **word) {
        const long count = atol(word[2]);
        long before = resident();
        before = resident();
        if (!strcmp(word[1], "pool")) {
            char *chunk = malloc(count * 16);
            for (long i = 0; i < count; ++i) {
                VALGRIND_MEMPOOL_ALLOC(&before, chunk + i * 16, 16);
                memset(chunk + i * 16, 1, 16);
            }
            printf("%ld\n", resident() - before);
            return 0;
        }
        void *last = 0;
        for (long i = 0; i < count; ++i) {
            void **block = malloc(16);
            block[0] = last;
            block[1] = block;
            last = block;
        }
        for (void **block = last, **next; block && block[0]; block = next) {
            void **old = block[0];
            next = old[0];
            free(old);
            block[0] = malloc(16);
            *(void **)block[0] = next;
        }
        printf("%ld ", resident() - before);
        for (long i = 0; last; ++i) {
            void **block = last;
            last = block[0];
            if (i % 50000) free(block);
        }
        printf("%ld\n", resident() - before);
        return 0;
    }"""


@pytest.mark.parametrize(("way", "most"), [("malloc", 5.0), ("pool", 4.0)])
def test_tiny_objects_need_little_beside_themselves(way, most, tmp_path):
    """A block takes 32 bytes, as glibc has it. Of a pool's objects the bytes are a block's, too."""
    result, done = drag(tmp_path, compile_c("tiny", TINY, FLAGS), way, str(COUNT))
    assert result.processes[0].levels[0].peak >= COUNT * 16
    kib = list(map(int, done.stdout.split()))
    live = COUNT * 16 / 1024
    assert live < kib[0] < most * live
    if way == "malloc":
        assert kib[1] < live  # returned to the OS, slots and all


def test_blocks_are_what_malloc_promises(tmp_path):
    """Cleared, kept across sizes, aligned, apart; what is freed twice or is no block is left alone."""
    source = r"""
        #define _GNU_SOURCE
        #include <malloc.h>
        #include <stdint.h>
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #define HOLDS(what) do { if (!(what)) printf("%d: %s\n", __LINE__, #what); } while (0)
        static int all(const unsigned char *at, size_t size, int value) {
            while (size > 0 && at[size - 1] == value) --size;
            return size == 0;
        }
        int main(void) {
            for (size_t size = 1; size < 2200; size += 37) {
                unsigned char *used[3];
                for (int i = 0; i < 3; ++i) memset(used[i] = malloc(size), 0xAA, size);
                for (int i = 0; i < 3; ++i) free(used[i]);
                for (int i = 0; i < 3; ++i) HOLDS(all(used[i] = calloc(size, 1), size, 0));
                for (int i = 0; i < 3; ++i) memset(used[i], i, size);
                for (int i = 0; i < 3; ++i) HOLDS(all(used[i], size, i) && (uintptr_t)used[i] % 16 == 0);
                HOLDS(malloc_usable_size(used[0]) >= size && malloc_usable_size(used[0] + 1) == 0);
                used[2] = realloc(used[2], size * 2);
                HOLDS(all(used[2], size, 2));
                memset(used[2], 2, size * 2);
                used[2] = realloc(used[2], size / 2 + 1);
                HOLDS(all(used[2], size / 2 + 1, 2) && all(used[0], size, 0) && all(used[1], size, 1));
                for (int i = 0; i < 3; ++i) free(used[i]);
            }
            for (size_t alignment = 32; alignment <= 1 << 21; alignment *= 4)
                for (size_t size = 0; size < 2000; size += 333) {
                    unsigned char *one = memalign(alignment, size), *other = aligned_alloc(alignment, size);
                    HOLDS((uintptr_t)one % alignment == 0 && (uintptr_t)other % alignment == 0);
                    memset(one, 1, size);
                    memset(other, 2, size);
                    one = realloc(one, size + 1);
                    HOLDS(one && all(one, size, 1) && all(other, size, 2));
                    free(one);
                    free(other);
                }
            char *none = malloc(0), *another = malloc(0);
            HOLDS(none && another && none != another);
            free(another);
            free(another);
            HOLDS(malloc(0) == another && malloc(0) != another);
            static char outside[64];
            char *inside = malloc(100);
            strcpy(inside + 16, "as it was");
            free(inside + 16);
            free(outside);
            HOLDS(!realloc(outside, 10) && !realloc(inside + 32, 10));
            HOLDS(malloc(100) != inside + 16);
            free(inside);
            HOLDS(!strcmp(inside + 16, "as it was"));
            HOLDS(!malloc(PTRDIFF_MAX) && !calloc((size_t)1 << 40, (size_t)1 << 40));
            puts("done");
            return 0;
        }"""
    _, done = drag(tmp_path, compile_c("promises", source, [*FLAGS, "-w"]))
    assert (done.returncode, done.stdout) == (0, "done\n")


SPARE = r"""
    #include <malloc.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <string.h>
    enum { COUNT = 20 };
    int main(void) {
        for (size_t size = 0; size < 9000; size += size < 200 ? 1 : 97) {
            unsigned char *at[COUNT];
            const size_t room = size <= 24 ? 24 : (size + 7) / 16 * 16 + 8;
            for (int i = 0; i < COUNT; ++i) at[i] = malloc(size);
            for (int i = 0; i < COUNT; ++i) memset(at[i], i, room);
            for (int i = 0; i < COUNT; ++i)
                for (size_t byte = 0; byte < room; ++byte)
                    if (at[i][byte] != i) return 1;
            for (int i = 0; i < COUNT; ++i) {
                const size_t usable = malloc_usable_size(at[i]);
                memset(at[i], i, usable);
                at[i] = realloc(at[i], size * 2 + 100);
                for (size_t byte = 0; byte < usable; ++byte)
                    if (at[i][byte] != i) return 2;
                free(at[i]);
            }
        }
        puts("done");
        return 0;
    }"""


def test_what_glibc_has_to_spare_behind_a_block_is_there(tmp_path):
    """A program that writes beyond what it asked for, and is none the worse for it, is so here, too."""
    _, done = drag(tmp_path, compile_c("spare", SPARE, FLAGS))
    assert (done.returncode, done.stdout) == (0, "done\n")


def test_objects_may_outlive_the_block_that_they_are_in(tmp_path):
    """Of what is freed the engine forgets the slots; but not those of an object that is still in its pool."""
    source = r"""
        #include <stdlib.h>
        #include <valgrind/valgrind.h>
        enum { COUNT = 2000, SIZE = 1000 };
        int main(void) {
            static char *blocks[COUNT];
            for (int i = 0; i < COUNT; ++i) {
                blocks[i] = malloc(SIZE);
                VALGRIND_MALLOCLIKE_BLOCK(blocks[i], 8, 0, 0);
            }
            for (int i = 0; i < 10; ++i) free(malloc(5000));
            for (int i = 0; i < COUNT; ++i) blocks[i][3] = 1;
            for (int i = 0; i < COUNT; ++i) free(blocks[i]);
            for (int i = 0; i < 10; ++i) free(malloc(5000));
            for (int i = 0; i < COUNT; ++i) VALGRIND_FREELIKE_BLOCK(blocks[i], 0);
            return 0;
        }"""
    result, _ = drag(tmp_path, compile_c("outlive", source, FLAGS))
    objects, chunks = result.processes[0].levels
    count = 2000
    (site,) = (each for each in objects.sites if each.bytes == count * 8)
    assert int(site.needed_area) == 8 * (8 * count * (count + 1) // 2 + 50_000 * count)
    assert int(site.live_area) == 8 * (8 * count * (count + 1) // 2 + 100_000 * count)
    assert chunks.peak == count * 1000 + 5000
