"""The exact drag engine agrees to the last digit with programs that compute their own drag."""

import os
import re
import resource
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from programs import compile_c, program, reap
from recorded import target

from reap.base.errors import ReapError
from reap.drag.exact.analyse import profile
from reap.drag.exact.read import read, reading
from reap.drag.exact.records import DragLevel, DragProfile

SEED = "7"


def drag(
    folder: Path, *command: str, words: list[str] | None = None, **options
) -> tuple[DragProfile, subprocess.CompletedProcess]:
    """Runs `reap drag`, and reads what it wrote."""
    file = folder / "drag.json"
    done = reap("drag", "--json", str(file), "--force", *(words or []), "--", *command, **options)
    assert file.exists(), done.stderr
    return msgspec.json.decode(file.read_bytes(), type=DragProfile), done


def said(level: DragLevel) -> list[str]:
    return [
        level.live_area,
        level.needed_area,
        str(level.total.objects),
        str(level.peak),
        str(level.needed_peak),
    ]


def forks_agree(result, done):
    """With what parent and child say of themselves; either engine."""
    truth = {name: rest for name, *rest in (line.split() for line in done.stdout.splitlines())}
    found = {each.forked: said(each.levels[0]) for each in result.processes}
    assert found == {True: truth["child"], False: truth["fork"]}


def own_sites(level, module):
    """The sites of a program, without what the C library keeps for a thread and as it formats text."""
    kept = re.compile(r"_*(pthread_create|cxa_thread_atexit|GI__IO)\w*(@\S+)?( |$)")
    own = [site for site in level.sites if site.module == module]
    return [site for site in own if not any(kept.match(line) for line in site.stack)]


def threads_agree(module, result, done):
    """What the C library allocates for threads is there before the program's own objects and stays."""
    live, needed = map(int, done.stdout.split()[1:3])
    own = own_sites(result.processes[0].levels[0], module)
    assert sum(int(site.live_area) for site in own) == live
    assert sum(int(site.needed_area) for site in own) == needed


OWN_MALLOC = r"""
    #include <stdio.h>
    #include <string.h>
    #include <unistd.h>
    static char heap[1 << 20]; static size_t used; static void *list;
    void *malloc(size_t n) {
        if (n <= 64) { void *p = list; if (p) { list = *(void **)p; return p; } n = 64; }
        used += (n + 15) & ~15ul;
        return heap + used - ((n + 15) & ~15ul);
    }
    void zfree(void *p) {
        if ((char *)p < heap || (char *)p >= heap + sizeof heap) _exit(9);
        *(void **)p = list; list = p;
    }
    void free(void *p) { if (p) zfree(p); }
    void *calloc(size_t a, size_t b) { return memset(malloc(a * b), 0, a * b); }
    void *realloc(void *p, size_t n) { void *q = malloc(n); if (p) memcpy(q, p, n); return q; }
    int main(void) {
        for (int i = 0; i < 50000; i++) { char *p = malloc(48); p[0] = 1; zfree(p); }
        return write(1, "ran\n", 4) != 4;
    }"""
DALLOCX = r"""
    #include <stdlib.h>
    #include <unistd.h>
    void dallocx(void *, int);
    int main(void) {
        for (int i = 0; i < 20000; i++) { volatile char *p = malloc(100); p[0] = 1; dallocx((void *)p, 0); }
        return write(1, "ran\n", 4) != 4;
    }"""


@pytest.mark.parametrize(("name", "source"), [("own-abort", OWN_MALLOC), ("dallocx", DALLOCX)])
def test_programs_that_free_by_another_name_run_and_it_is_said(name, source):
    """Replaced alone, their malloc would allocate blocks that their free does not know."""
    library = ["-l:libjemalloc.so.2"] if name == "dallocx" else []
    done = reap("drag", "--", compile_c(f"drag-{name}", source, ["-O1", "-fno-builtin"], library))
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    assert "was left to it, and its blocks are not in these figures" in " ".join(done.stderr.split())


@pytest.mark.parametrize("way", ["malloc", "realloc", "coroutine", "stack", "pool", "requests", "exec"])
def test_a_program_that_computes_its_own_drag_agrees(way, tmp_path):
    result, done = drag(tmp_path, target("drag/random"), way, SEED)
    name, *truth = done.stdout.split()
    assert name == way
    assert said(result.processes[0].levels[0]) == truth
    assert result.processes[0].end == "exited"
    assert result.status == done.returncode == 0


def test_chunks_are_counted_beside_the_objects_in_them(tmp_path):
    result, _ = drag(tmp_path, target("drag/random"), "requests", SEED)
    objects, chunks = result.processes[0].levels
    assert (objects.name, chunks.name) == ("objects", "chunks")
    assert objects.total.objects == 20
    assert (chunks.total.objects, chunks.total.bytes) == (1, 65536)
    assert chunks.live_area == chunks.needed_area == str(65536**2)


@pytest.mark.parametrize("seed", ["1", "7"])
def test_mappings_that_objects_are_put_into_are_chunks(seed, tmp_path):
    """Mapped, reserved and made accessible, grown, moved, unmapped in parts; and the heap's end."""
    result, done = drag(tmp_path, target("drag/mapped"), seed)
    objects, chunks = result.processes[0].levels
    assert said(chunks) == done.stdout.split()
    assert chunks.needed_peak < chunks.peak
    assert objects.total.bytes == objects.total.objects * 64


def test_what_is_not_used_of_a_mapping_takes_no_memory_when_it_is_moved(tmp_path):
    source = r"""
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <valgrind/valgrind.h>
        int main(void) {
            const size_t size = 512ul << 20;
            char line[200], *at = mmap(0, size, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            char *to = mmap(0, size, 0, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            VALGRIND_MEMPOOL_ALLOC(line, at, 64);
            for (int i = 0; i < 10; ++i) free(malloc(1000));
            at[size / 2] = 1;
            to = mremap(at, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to);
            for (int i = 0; i < 10; ++i) free(malloc(1000));
            munmap(to, size);
            FILE *status = fopen("/proc/self/status", "r");
            while (fgets(line, sizeof line, status))
                if (!strncmp(line, "VmHWM:", 6)) puts(line + 6);
            return 0;
        }"""
    result, done = drag(tmp_path, compile_c("moves", source, ["-O1", "-fno-builtin"]))
    size = 512 << 20
    chunk = next(site for site in result.processes[0].levels[1].sites if site.bytes == size)
    # Its slots went with it.
    assert int(chunk.needed_area) == size * (size + 10 * 1000)
    assert int(chunk.live_area) == size * (size + 20 * 1000)
    assert int(done.stdout.split()[0]) < 200 << 10


def test_memory_that_a_program_maps_where_it_likes_is_accessed_as_ever(tmp_path):
    """As Go's runtime does. Valgrind itself gives out the first 128 GiB alone; the slots lie from 2^45 on."""
    source = r"""
        #define _GNU_SOURCE
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        int main(void) {
            const unsigned long places[] = {0xc000000000, 0x2000000000, 0x100000000000, 0x7e0000000000,
                                            0x200000000000, 0x280000000000};
            char *block = malloc(100);
            for (int i = 0; i < 6; ++i) {
                char *at = mmap((void *)places[i], 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                memset(at, i, 1 << 20);
                printf("%d", at[1234]);
                munmap(at, 1 << 20);
            }
            setvbuf(stdout, 0, _IONBF, 0);
            free(malloc(1000));
            free(block);
            puts("");
            return 0;
        }"""
    result, done = drag(tmp_path, compile_c("anywhere", source, ["-O1", "-fno-builtin"]))
    assert (done.returncode, done.stdout) == (0, "012345\n")
    assert result.processes[0].end == "exited"
    assert not result.notes


def test_objects_that_are_put_where_a_program_likes_are_objects(tmp_path):
    """And where they are put are chunks. One of the objects is of a size that its record does not hold."""
    source = r"""
        #define _GNU_SOURCE
        #include <stdlib.h>
        #include <sys/mman.h>
        #include <valgrind/valgrind.h>
        int main(int words, char **word) {
            const unsigned long places[] = {0xc000000000, 0x7e0000000000};
            char *at[2];
            for (int i = 0; i < 2; ++i)
                at[i] = mmap((void *)places[i], 1 << 20, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            for (int i = 0; i < 2; ++i) {
                VALGRIND_MEMPOOL_ALLOC(&word, at[i] + 64, 64);
                VALGRIND_MEMPOOL_ALLOC(&word, at[i] + 4096, 200000);
                at[i][200000] = 1;
                free(malloc(1000));
                at[i][65] = 1;
                free(malloc(1000));
            }
            VALGRIND_DESTROY_MEMPOOL(&word);
            return at[0] != (char *)places[0] || at[1] != (char *)places[1];
        }"""
    result, done = drag(tmp_path, compile_c("high", source, ["-O1", "-fno-builtin"]))
    assert done.returncode == 0
    objects, chunks = result.processes[0].levels
    small, large = (
        [each for each in objects.sites if each.bytes == each.objects * size] for size in (64, 200_000)
    )
    turn = 64 + 200_000 + 2000
    assert sum(int(site.live_area) for site in small) == 64 * 3 * turn
    assert sum(int(site.needed_area) for site in small) == 64 * 2 * (turn - 1000)
    assert sum(int(site.live_area) for site in large) == 200_000 * (3 * turn - 2 * 64)
    assert sum(int(site.needed_area) for site in large) == 200_000**2 * 2
    assert chunks.peak == 2 * (1 << 20) + 1000


def test_each_process_of_a_fork_agrees(tmp_path):
    forks_agree(*drag(tmp_path, target("drag/random"), "fork", SEED))


def test_threads_agree(tmp_path):
    threads_agree(Path(target("drag/random")).name, *drag(tmp_path, target("drag/random"), "threads", SEED))


def test_a_killed_process_loses_nothing_but_its_last_accesses(tmp_path):
    result, done = drag(tmp_path, target("drag/random"), "killed", SEED)
    killed = next(each for each in result.processes if each.forked)
    assert killed.end == "killed"
    assert said(killed.levels[0]) == done.stdout.split()[1:]
    assert any("killed" in note for note in killed.notes)


def test_a_program_that_dies_is_told_of(tmp_path):
    result, done = drag(tmp_path, target("drag/random"), "dies", SEED)
    assert result.status == done.returncode == 139
    assert said(result.processes[0].levels[0]) == done.stdout.split()[1:]


def test_programs_that_are_executed_have_their_own_result(tmp_path):
    result, done = drag(tmp_path, "/bin/sh", "-c", f"true; {target('drag/random')} malloc {SEED}; exit 5")
    own = next(each for each in result.processes if each.command[0] == target("drag/random"))
    assert said(own.levels[0]) == done.stdout.split()[1:]
    assert done.returncode == 5
    assert len(result.processes) > 1


LEAKS = """
    #include <stdio.h>
    #include <stdlib.h>
    int main(void) {
        for (int i = 0; i < 9; i++) *(volatile char *)malloc(90) = 1;
        puts("ran");
        return fflush(stdout);
    }"""


@pytest.mark.parametrize("kind", ["thread", "leak", "address -static-libasan"])
def test_a_child_with_a_sanitizer_runs_as_it_does_alone_and_it_is_said(tmp_path, kind):
    """Under Valgrind it would end at once, or find no leak."""
    flags = f"-fsanitize={kind}".split()
    child = compile_c(f"leaks-{kind.replace(' ', '')}", LEAKS, flags)
    alone = subprocess.run([child], capture_output=True, check=False).returncode
    assert (alone == 0) == (kind == "thread")
    result, done = drag(tmp_path, "/bin/sh", "-c", f"{child}; echo status $?")
    assert done.stdout == f"ran\nstatus {alone}\n"
    assert [each.command[0] for each in result.processes if each.command[0] == child] == []
    assert any(f"{child} is built with a sanitizer" in note for note in result.notes)


def test_what_runs_where_a_program_with_a_sanitizer_could_not_is_measured(tmp_path):
    sanitized = tmp_path / "sanitized"
    shutil.copy(compile_c("leaks-address", LEAKS, ["-fsanitize=address"]), sanitized)
    sanitized.chmod(0o644)
    plain = compile_c("leaks", LEAKS, [])
    result, done = drag(tmp_path, "/usr/bin/perl", "-e", f"exec '{sanitized}'; exec '{plain}'")
    assert done.stdout == "ran\n"
    assert [each.levels[0].total.objects for each in result.processes if each.command[0] == plain] == [10]


def test_sites_are_named_and_their_saving_is_what_it_is(tmp_path):
    source = r"""
        #include <stdlib.h>
        static char *volatile kept[3];
        __attribute__((noinline)) static void needed(void) { kept[0] = malloc(5000); }
        __attribute__((noinline)) static void dragged(void) { kept[1] = malloc(90000); kept[1][8] = 1; }
        __attribute__((noinline)) static void unused(void) { kept[2] = malloc(3000); }
        int main(void) {
            needed(); dragged(); unused();
            for (int i = 0; i < 50; ++i) { kept[0][i] = 1; free(malloc(100)); }
            return kept[0][49] - 1;
        }"""
    page, markup = tmp_path / "drag.html", "<script>alert(1)</script>"
    result, done = drag(
        tmp_path,
        compile_c("sites", source, ["-O1", "-g", "-fno-builtin"]),
        markup,
        words=["--html", str(page)],
    )
    level = result.processes[0].levels[0]
    sites = {site.function: site for site in level.sites}
    assert level.sites[0].function == "dragged"
    assert level.peak == 98100
    assert level.needed_peak == 95000
    assert sites["dragged"].write_only.bytes == 90000
    assert sites["dragged"].dragged_at_peak == 90000
    # The peak without it is when it was needed last, beside what had come before.
    assert sites["dragged"].saves == 98100 - 95000
    assert sites["unused"].never.bytes == 3000
    assert sites["needed"].never.bytes == 0
    assert "dragged" in done.stderr
    text = page.read_text()
    assert 'data-figure="drag"' in text
    assert markup not in text
    assert page.stat().st_mode & 0o777 == 0o600


def test_what_keeps_the_engine_out_is_said(tmp_path):
    static = reap("drag", "--", program("peak_static"), "1")
    assert static.returncode == 126
    assert "static" in static.stderr
    nothing = reap("drag", "--", "/bin/true", env={"PATH": str(tmp_path), "HOME": str(tmp_path)})
    assert nothing.returncode == 1
    assert "Valgrind" in nothing.stderr
    assert "apt-get install" in nothing.stderr
    narrow = reap(
        "drag", "--", "/bin/true", preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (1 << 36,) * 2)
    )
    assert narrow.returncode == 126
    assert "address space" in narrow.stderr


def test_what_valgrind_refuses_is_told_before_it_does(tmp_path):
    privileged = tmp_path / "privileged"
    shutil.copy("/bin/true", privileged)
    privileged.chmod(0o4755)
    done = reap("drag", "--", str(privileged))
    assert done.returncode == 126
    assert "set-user-ID" in done.stderr


def test_a_result_that_could_not_be_written_is_told_before_the_run(tmp_path):
    done = reap("drag", "--json", str(tmp_path / "none" / "x.json"), "--", "/bin/echo", "ran")
    assert done.returncode == 125
    assert "does not exist" in done.stderr
    assert "ran" not in done.stdout


def test_no_room_for_a_recording_is_said():
    """A limit of file sizes stands for a full disk."""
    done = reap(
        "drag",
        *("--", "/bin/echo", "ran"),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16,) * 2),
    )
    assert done.returncode == 125
    assert "TMPDIR" in done.stderr
    assert done.stdout == "ran\n"


def test_a_recording_that_is_cut_short_while_it_is_read_is_one_error(tmp_path):
    file = tmp_path / "1.drag"
    file.write_bytes(b"REDRAG02" + bytes(16) + b"\x01\x01\x64" * 500_000)  # allocations of 100 bytes
    recording = read(file)
    assert recording.header().objects == 500_000
    os.truncate(file, 100)
    with pytest.raises(ReapError, match="cut short while it was read"), reading(file):
        profile([recording], ["x"], status=0, notes=[])


def test_the_engine_is_kept_where_the_user_may_write(tmp_path):
    cache = tmp_path / "cache"
    cache.write_text("a file, where the folder should be")
    done = reap("drag", "--", "/bin/true", env={**os.environ, "XDG_CACHE_HOME": str(cache)})
    assert done.returncode == 125
    assert "XDG_CACHE_HOME" in done.stderr


def test_a_full_disk_ends_the_recording_and_not_the_program(tmp_path):
    """A limit of file sizes stands for it: the engine must ask for no more, lest the program get a signal."""
    source = r"""
        #include <stdlib.h>
        int main(void) { for (int i = 0; i < 300000; ++i) free(malloc(10)); return 7; }"""
    limit = 1 << 20
    result, done = drag(
        tmp_path,
        compile_c("many", source, ["-O1", "-fno-builtin"]),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )
    assert done.returncode == 7
    assert 50_000 < result.processes[0].levels[0].total.objects < 300_000
    assert any("recording stopped" in note for note in result.processes[0].notes)


def test_python_s_own_allocator_is_told_of(tmp_path):
    likeness = compile_c("python-likeness", "int main(void) { return malloc(10) == 0; }", ["-fno-builtin"])
    hidden, _ = drag(tmp_path, likeness)
    assert any("PYTHONMALLOC" in note for note in hidden.notes)
    sampled = reap("drag", "--engine", "sample", "--", likeness, env={**os.environ, "PYTHONMALLOC": ""})
    assert "PYTHONMALLOC" in sampled.stderr
