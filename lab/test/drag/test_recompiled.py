"""The recompiled drag engine: it agrees with programs that compute their own drag, and with the exact one."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from lab.test.drag.recompiled import BIN, COMPILERS, built, recompiled
from lab.test.drag.test_drag import SEED, drag, forks_agree, said, threads_agree
from recorded import target


@pytest.mark.parametrize("way", ["malloc", "realloc"])
def test_a_program_that_computes_its_own_drag_agrees(way, tmp_path):
    result, done = recompiled(tmp_path, built("drag/random"), way, SEED)
    name, *truth = done.stdout.split()
    assert name == way
    assert said(result.processes[0].levels[0]) == truth
    assert result.processes[0].end == "exited"
    assert result.status == done.returncode == 0


def test_the_engines_agree(tmp_path):
    """The same program; the exact engine sees the C library's accesses, too, and its few blocks."""
    ours, _ = recompiled(tmp_path, built("drag/lifetimes"), "30000", "plain")
    theirs, _ = drag(tmp_path, target("drag/lifetimes"), "30000", "plain")
    one, other = (each.processes[0].levels[0] for each in (ours, theirs))
    assert one.drag == pytest.approx(other.drag, rel=0.001)
    assert one.peak == pytest.approx(other.peak, rel=0.001)
    assert one.sites[0].function == other.sites[0].function == "churn"


def test_each_process_of_a_fork_agrees(tmp_path):
    forks_agree(*recompiled(tmp_path, built("drag/random"), "fork", SEED))


def test_threads_agree(tmp_path):
    threads_agree(
        Path(built("drag/random")).name, *recompiled(tmp_path, built("drag/random"), "threads", SEED)
    )


def test_what_it_built_runs_without_reap_and_does_the_same():
    command = [built("drag/random"), "malloc", SEED]
    first, second = (subprocess.run(command, capture_output=True, check=True).stdout for _ in range(2))
    assert first == second
    assert first.startswith(b"malloc ")


def test_a_program_that_was_not_recompiled_is_told_how():
    done = subprocess.run(
        [BIN / "reap", "drag", "--engine", "recompiled", "--", "true"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 126
    assert "CC=reap-drag-cc" in done.stderr


ODD = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>
static void leave(int sent) { _exit(7); }
int main(int count, char **words) {
#ifdef __SANITIZE_THREAD__
    puts("a race detector");
#endif
    if (count == 1) { /* the frame pointer of a caller that has none is any number */
        char *text = 0;
        for (long odd = -64; odd < 64; odd += 8) {
            long keep;
            __asm__ volatile("push %%rbp\n sub $8, %%rsp\n mov %2, %%rbp\n"
                             "call malloc\n add $8, %%rsp\n pop %%rbp"
                             : "=a"(text), "=&D"(keep) : "r"(odd), "1"(8L)
                             : "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory");
            free(text);
        }
        puts("done");
        return 0;
    }
    struct itimerval soon = {{0, 0}, {0, 1000 + 100 * atoi(words[1])}};
    signal(SIGALRM, leave);
    setitimer(ITIMER_REAL, &soon, 0);
    for (;;) free(malloc(8));
}
"""


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.c").write_text(ODD)
    wrapper, words = BIN / "reap-drag-cc", ["-O1", "-flto", "-w", "-fno-builtin", "-mno-red-zone"]
    subprocess.run([wrapper, *words, folder / "odd.c", "-o", folder / "odd"], check=True)
    return str(folder / "odd")


def test_a_frame_pointer_that_is_none_is_not_followed(odd, tmp_path):
    """And the macro of a race detector is not seen."""
    _, done = recompiled(tmp_path, odd)
    assert done.stdout == "done\n"
    assert done.returncode == 0


def test_a_handler_that_ends_the_process_waits_for_nothing(odd, tmp_path):
    """It comes in the middle of an allocation, nearly always."""
    for turn in range(20):
        done = subprocess.run(
            [odd, str(turn)],
            env={**os.environ, "REAP_DRAG_FOLDER": str(tmp_path)},
            check=False,
            timeout=60,
        )
        assert done.returncode == 7


def test_without_reap_it_needs_no_address_space(odd):
    words = ["sh", "-c", 'ulimit -v 500000 && exec "$0"', odd]
    assert subprocess.run(words, capture_output=True, check=True).stdout == b"done\n"


ACCESSES = r"""
typedef __int128 wide;
void all(char *a, short *b, int *c, long *d, wide *e) { *a = 1, *b = 2, *c = 3, *d = 4, *e = 5; }
long sum(char *a, short *b, int *c, long *d, wide *e) { return *a + *b + *c + *d + (long)*e; }
"""


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("inlined", [True, False], ids=["stores", "calls"])
def test_accesses_are_stores_where_the_assembly_is_understood(compiler, inlined, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "x.c").write_text(ACCESSES)
    more = ["-pipe"] if inlined else ["-masm=intel"]
    words = [BIN / "reap-drag-cc", "-O2", *more, "-c", tmp_path / "x.c", "-o", tmp_path / "x.o"]
    subprocess.run(words, env={**os.environ, "REAP_CC": compiler}, check=True)
    shown = subprocess.run(["nm", "-u", tmp_path / "x.o"], capture_output=True, text=True, check=True)
    wanted = set(shown.stdout.split()) - {"U"}
    assert ("reap_drag_state_2" in wanted) == inlined
    assert any(name.startswith(("__tsan_read", "__tsan_write")) for name in wanted) != inlined


READS = r"""
#include <stdlib.h>
volatile long got;
int main(void) {
    for (int turn = 0; turn < 10; ++turn) {
        volatile long *read = malloc(1000); /* written, read, and written again */
        read[3] = turn;
        got = read[3];
        read[3] = 0;
        free((void *)read);
        long *written = malloc(1000); /* at the same place */
        written[3] = turn;
        free(written);
        long *moved = malloc(2000); /* the copy reads it */
        moved[3] = turn;
        moved = realloc(moved, 3000);
        free(moved);
        long *again = malloc(2000);
        again[3] = turn;
        free(again);
    }
    return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_is_written_and_never_read_is_told_from_what_is_read(compiler, tmp_path):
    """A write leaves it known that there was a read; a new block begins without."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "reads.c").write_text(READS)
    words = [
        BIN / "reap-drag-cc",
        "-O1",
        "-w",
        "-fno-builtin",
        tmp_path / "reads.c",
        "-o",
        tmp_path / "reads",
    ]
    subprocess.run(words, env={**os.environ, "REAP_CC": compiler}, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "reads"))
    level = result.processes[0].levels[0]
    assert (level.write_only.objects, level.write_only.bytes) == (30, 60000)


MOVES = r"""
#include <stdlib.h>
#include <string.h>
volatile int found;
char *volatile one, *volatile other;
int main(void) {
    one = malloc(64);
    memset(one, 1, 64);
    other = malloc(4000);
    memset(other, 1, 4000);
    memcpy(one, other, 48);
    free(other);
    other = malloc(3000);
    memmove(other, one, 40);
    free(one);
    one = malloc(48);
    found = memcmp(one, other, 16) == 0;
    free(one);
    free(other);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_what_a_compiler_knows_how_to_move_is_seen(compiler, tmp_path):
    """Functions that it would put moves in the place of, since the sizes are known; fortified ones, too."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "moves.c").write_text(MOVES)
    words = [
        BIN / "reap-drag-cc",
        "-O2",
        "-D_FORTIFY_SOURCE=2",
        tmp_path / "moves.c",
        "-o",
        tmp_path / "moves",
    ]
    subprocess.run(words, env={**os.environ, "REAP_CC": compiler}, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "moves"))
    level = result.processes[0].levels[0]
    assert (level.total.objects, level.never.objects, level.write_only.objects) == (4, 0, 0)


PATHS = r"""
#include <stdlib.h>
#define APART __attribute__((noinline))
static char *volatile last;
static void keep(char *one) { last = one; *last = 1; free(last); }
static APART void left(void) { keep(malloc(20)); __asm__ volatile("" ::: "memory"); }
static APART void right(void) { keep(malloc(30)); __asm__ volatile("" ::: "memory"); }
static APART void walk(int depth, int path) {
    if (depth == 0) {
        if (path % 3 == 0) left(); else right();
    } else {
        walk(depth - 1, 2 * path);
        walk(depth - 1, 2 * path + 1);
    }
    __asm__ volatile("" ::: "memory");
}
int main(void) {
    for (int turn = 0; turn < 3; ++turn) walk(11, 0);
    return 0;
}
"""


def test_thousands_of_stacks_are_told_apart(tmp_path):
    """More than the first table of stacks has room for; each is met again after it grew."""
    (tmp_path / "paths.c").write_text(PATHS)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", "-fno-optimize-sibling-calls"]
    subprocess.run([*words, tmp_path / "paths.c", "-o", tmp_path / "paths"], check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "paths"))
    sites = {each.function: (each.objects, each.bytes) for each in result.processes[0].levels[0].sites}
    lefts = 3 * len(range(0, 2**11, 3))
    rights = 3 * 2**11 - lefts
    assert sites == {"left": (lefts, 20 * lefts), "right": (rights, 30 * rights)}


WIDE = r"""
#include <pthread.h>
#include <stdio.h>
#define ALL __ATOMIC_SEQ_CST
typedef unsigned __int128 wide;
static wide sum, swapped;
static const wide step = ((wide)1 << 64) + 1;
static void *work(void *unused) {
    for (int turn = 0; turn < 20000; ++turn) {
        __atomic_fetch_add(&sum, step, ALL);
        wide seen = __atomic_load_n(&swapped, ALL);
        while (!__atomic_compare_exchange_n(&swapped, &seen, seen + step, 0, ALL, ALL)) {}
    }
    return unused;
}
int main(void) {
    pthread_t one, other;
    pthread_create(&one, 0, work, 0);
    pthread_create(&other, 0, work, 0);
    pthread_join(one, 0);
    pthread_join(other, 0);
    wide before = __atomic_exchange_n(&sum, 5, ALL);
    wide low = __atomic_fetch_nand(&sum, 4, ALL);
    __atomic_fetch_xor(&sum, 0xff, ALL);
    printf("%d %d %d %d\n", before == 40000 * step, swapped == 40000 * step, (int)low, (int)sum);
    return 0;
}
"""


@pytest.mark.parametrize("compiler", COMPILERS)
def test_atomic_operations_on_sixteen_bytes_are_atomic(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (tmp_path / "wide.c").write_text(WIDE)
    words = [BIN / "reap-drag-cc", "-O1", "-mcx16", "-pthread", tmp_path / "wide.c", "-o", tmp_path / "wide"]
    subprocess.run(words, env={**os.environ, "REAP_CC": compiler}, check=True)
    done = subprocess.run([tmp_path / "wide"], capture_output=True, text=True, check=True)
    assert done.stdout == f"1 1 5 {~(5 & 4) ^ 0xFF}\n"


BARE_FORK = r"""
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
volatile char *kept;
static void allocate(int count) {
    for (; count > 0; --count) { kept = malloc(50); kept[0] = 1; free((void *)kept); }
}
int main(void) {
    allocate(10);
    pid_t child = _Fork();
    allocate(child == 0 ? 100 : 20);
    if (child == 0) _exit(0);
    waitpid(child, 0, 0);
    return 0;
}
"""


def test_a_fork_without_handlers_has_a_recording_of_its_own(tmp_path):
    (tmp_path / "bare.c").write_text(BARE_FORK)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", tmp_path / "bare.c", "-o", tmp_path / "bare"]
    subprocess.run(words, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "bare"))
    objects = {each.forked: each.levels[0].total.objects for each in result.processes}
    assert objects == {True: 100, False: 30}
