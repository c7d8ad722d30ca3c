"""What recompiled programs ask of memory, locks and file systems."""

import json
import subprocess
from pathlib import Path

import pytest
from lab.test.drag.recompiled import BIN, recompiled
from lab.test.drag.test_drag import drag
from lab.test.drag.test_memory import SPARE

SMALL = r"""
#include <stdlib.h>
static void *held[1000];
int main(void) {
    for (int i = 0; i < 500; ++i) *(char *)(held[i] = malloc(8)) = 1;
    for (int i = 500; i < 1000; ++i) *(char *)(held[i] = calloc(2, 4)) = 1;
    for (int i = 0; i < 1000; ++i) free(held[i]);
    return 0;
}
"""


def test_an_allocator_that_it_is_linked_with_stays_and_may_have_blocks_of_eight_bytes(tmp_path):
    library = Path("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2")
    if not library.exists():
        pytest.skip("jemalloc is not installed")
    (tmp_path / "small.c").write_text(SMALL)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", tmp_path / "small.c"]
    words += ["-Wl,--no-as-needed", library, "-o", tmp_path / "small"]
    subprocess.run(words, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "small"))
    (site, *_) = (each for each in result.processes[0].levels[0].sites if each.function == "main")
    assert site.objects == 500


# Has the kernel answer the program's calls by these rules from then on.
FILTER = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
static int install(struct sock_filter *rules, unsigned short count) {
    struct sock_fprog program = {count, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}
"""


# From here on the file system cannot allocate space.
REFUSED = (
    FILTER
    + r"""
int main(void) {
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_fallocate, 0, 1),
                                  BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EOPNOTSUPP),
                                  BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
    if (install(rules, sizeof rules / sizeof *rules)) return 77;
    for (int i = 0; i < 400000; ++i) {
        char *volatile one = malloc(20);
        *one = 1;
        free(one);
    }
    return 0;
}
"""
)


@pytest.mark.parametrize("engine", ["recompiled", "sample"])
def test_a_file_system_that_cannot_allocate_space_loses_nothing(engine, tmp_path):
    (tmp_path / "refused.c").write_text(REFUSED)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", tmp_path / "refused.c", "-o", tmp_path / "refused"]
    subprocess.run(words, check=True)
    if subprocess.run([tmp_path / "refused"], check=False).returncode == 77:
        pytest.skip("the kernel has no seccomp")
    if engine == "recompiled":
        result, _ = recompiled(tmp_path, str(tmp_path / "refused"))
        level = result.processes[0].levels[0]
        assert (level.total.objects, level.never.objects, result.status) == (400_000, 0, 0)
        assert result.processes[0].end == "exited"
        return
    options = ["--engine", "sample", "--period", "100", "--json", tmp_path / "samples.json"]
    subprocess.run([BIN / "reap", "drag", *options, "--", tmp_path / "refused"], check=True)
    (process,) = json.loads((tmp_path / "samples.json").read_text())["processes"]
    assert process["samples"] > 70_000


# It must never fill 16 TiB, be the engine as it may: then the filter answers.
LOCKED = (
    FILTER
    + r"""
int main(void) {
    struct sock_filter rules[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                  BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_mlockall, 0, 3),
                                  BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
                                  BPF_JUMP(BPF_JMP | BPF_JSET, MCL_ONFAULT, 1, 0),
                                  BPF_STMT(BPF_RET, SECCOMP_RET_ERRNO | EXDEV),
                                  BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
    if (install(rules, sizeof rules / sizeof *rules)) return 77;
    return mlockall(MCL_CURRENT) != 0 && errno == EXDEV ? 1 : 0;
}
"""
)


def test_a_program_that_locks_all_its_memory_does_not_fill_the_engine_s(tmp_path):
    """It does so as a privileged user; others are refused by the kernel."""
    (tmp_path / "locked.c").write_text(LOCKED)
    words = [BIN / "reap-drag-cc", "-O1", tmp_path / "locked.c", "-o", tmp_path / "locked"]
    subprocess.run(words, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "locked"))
    if result.status == 77:
        pytest.skip("the kernel has no seccomp")
    assert result.status == 0
    exact, _ = drag(tmp_path, str(tmp_path / "locked"))
    status = Path("/proc/self/status").read_text().split()
    if int(status[status.index("CapEff:") + 1], 16) >> 14 & 1:  # CAP_IPC_LOCK
        assert exact.status == 125
        assert any("mlockall" in note for note in exact.notes)


SPARSE = r"""
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    long pages = 0;
    for (int i = 0; i < 100; ++i) *(char *)calloc(1, 2000000) = 1;
    FILE *file = fopen("/proc/self/statm", "r");
    return fscanf(file, "%*d %ld", &pages) == 1 && pages < 50000000 / 4096 ? 0 : 1;
}
"""


def test_large_blocks_of_which_little_is_used_take_little(tmp_path):
    """No large pages for their slots."""
    (tmp_path / "sparse.c").write_text(SPARSE)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", tmp_path / "sparse.c", "-o", tmp_path / "sparse"]
    subprocess.run(words, check=True)
    result, _ = recompiled(tmp_path, str(tmp_path / "sparse"))
    assert result.status == 0


def test_what_a_program_has_in_all_of_a_block_is_kept_by_realloc(tmp_path):
    """Behind what it asked for, too: malloc_usable_size said that it may."""
    (tmp_path / "spare.c").write_text(SPARE)
    words = [BIN / "reap-drag-cc", "-O1", "-fno-builtin", tmp_path / "spare.c", "-o", tmp_path / "spare"]
    subprocess.run(words, check=True)
    _, done = recompiled(tmp_path, str(tmp_path / "spare"))
    assert (done.returncode, done.stdout) == (0, "done\n")
