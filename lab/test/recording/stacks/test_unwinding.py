"""The recorder's unwinder finds the frames that libgcc's finds; unwind_check.cpp compares them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from building import OUT, compiled
from programs import compile_c
from recorded import target

PRELOAD = Path(__file__).resolve().parents[3] / "preload"
LINE = re.compile(
    r"^(.*): (\d+) stacks, (\d+) frames, (\d+) numbered, (\d+) by libgcc alone, (\d+) differences$",
    re.MULTILINE,
)

PERL = "$h{$_} = [$_, qq(a$_)] for 1..3000; print join q(,), map { length } sort keys %h; eval { die q(x) };"
PYTHON = """
import json, re, subprocess, threading
work = lambda: [json.dumps(list(range(n % 50))) for n in range(200)]
threads = [threading.Thread(target=work) for n in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(subprocess.check_output(["true"]), re.sub("a(b|c)*d", "x", "abcbcd"))
"""
CPP = (
    "#include <map>\n#include <string>\nint main() { std::map<int, std::string> m; return int(m.size()); }\n"
)

PLUGIN = """
    #include <stdlib.h>
    void *make(void) { volatile char frame[FRAME]; frame[0] = 1; void *volatile p = malloc(64); return p; }"""
# Closes each plugin before it opens the next, which comes to lie in its place.
HOST = r"""
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdlib.h>
    #include <stdio.h>
    static volatile int ended;
    static void *allocate(void *argument) {
        while (!ended) free(malloc(100));
        return argument;
    }
    int main(int count, char **words) {
        pthread_t thread;
        void *last = NULL;
        int same = 0;
        pthread_create(&thread, NULL, allocate, NULL);
        for (int round = 0; round < 20; round++)
            for (int i = 1; i < count; i++) {
                void *plugin = dlopen(words[i], RTLD_NOW);
                void *(*make)(void) = (void *(*)(void))dlsym(plugin, "make");
                same += last == (void *)make;
                last = (void *)make;
                for (int k = 0; k < 10; k++) free(make());
                dlclose(plugin);
            }
        printf("%d in its place\n", same);
        ended = 1;
        pthread_join(thread, NULL);
        return 0;
    }"""

# The same with a dlclose that no preload sees.
UNSEEN_HOST = HOST.replace(
    "int same = 0;",
    """int same = 0;
        int (*unseen)(void *) = (int (*)(void *))dlsym(dlopen("libc.so.6", RTLD_NOW), "dlclose");""",
).replace("dlclose(plugin);", "unseen(plugin);")

# Closing it waits until the program has forked, and the child has allocated.
SLOW_PLUGIN = r"""
    #include <unistd.h>
    int entered[2], left[2];
    __attribute__((constructor)) static void begin(void) { (void)!pipe(entered), (void)!pipe(left); }
    __attribute__((destructor)) static void end(void) {
        char byte = 0;
        (void)!write(entered[1], &byte, 1);
        (void)!read(left[0], &byte, 1);
    }"""
FORKS_DURING_CLOSE = r"""
    #include <dlfcn.h>
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/prctl.h>
    #include <sys/wait.h>
    #include <unistd.h>
    static void *close_it(void *plugin) { dlclose(plugin); return NULL; }
    static void work(int depth) {
        for (int i = 0; i < 100; i++) free(malloc(50));
        if (depth > 0) work(depth - 1);
        __asm__ volatile("" ::: "memory");
    }
    int main(int count, char **words) {
        pthread_t thread;
        char byte = 0;
        void *plugin = dlopen(words[1], RTLD_NOW);
        int *entered = dlsym(plugin, "entered"), *left = dlsym(plugin, "left");
        int status = 0;
        work(5);
        pthread_create(&thread, NULL, close_it, plugin);
        (void)!read(entered[0], &byte, 1);
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_NAME, "child");
            work(10);
            exit(3);
        }
        waitpid(child, &status, 0);
        (void)!write(left[1], &byte, 1);
        pthread_join(thread, NULL);
        return WEXITSTATUS(status) != 3;
    }"""

# Coroutines below a thread's small stack. Their first frame is chained by rbp to that of their resumer.
# Their stacks cannot be read when they have ended.
CHAINED = r"""
    #define _GNU_SOURCE
    #include <pthread.h>
    #include <stdlib.h>
    #include <sys/mman.h>
    enum { SIZE = 16384, GAP = 4096 };
    __attribute__((noinline)) void body(void) {
        for (int i = 0; i < 40; i++) free(malloc(40));
        __asm__ volatile("" ::: "memory");
    }
    /* Calls body on another stack; the unwind tables find its caller by rbp. */
    void on_stack(void *top);
    __asm__(".text\n.globl on_stack\n.type on_stack,@function\non_stack:\n.cfi_startproc\n"
            "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset 6,-16\nmov %rsp,%rbp\n.cfi_def_cfa_register 6\n"
            "mov %rdi,%rsp\ncall body\nmov %rbp,%rsp\npop %rbp\n.cfi_def_cfa 7,8\nret\n.cfi_endproc\n"
            ".size on_stack,.-on_stack\n");
    static char *below;
    static void *run(void *argument) {
        for (int i = 0; i < 40; i++) {
            mprotect(below, SIZE, PROT_READ | PROT_WRITE);
            on_stack(below + SIZE - i % 3 * 512);
            mprotect(below, SIZE, PROT_NONE);
            if (i % 7 == 0) free(malloc(30));
            below += i % 5 == 4 ? 4 * SIZE : -SIZE;
        }
        return argument;
    }
    int main(void) {
        /* 20 coroutine stacks, a guard page, the thread's stack. */
        char *area = mmap(NULL, 20 * SIZE + GAP + 2 * SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        char *own = area + 20 * SIZE + GAP;
        pthread_attr_t attributes;
        pthread_t thread;
        void *result = NULL;
        mprotect(own, 2 * SIZE, PROT_READ | PROT_WRITE);
        below = area + 19 * SIZE;
        pthread_attr_init(&attributes);
        pthread_attr_setstack(&attributes, own, 2 * SIZE);
        pthread_create(&thread, &attributes, run, NULL);
        pthread_join(thread, &result);
        return result != NULL;
    }"""

# A random tree of calls through frames of each kind; in many the same words of the stack are another frame's.
FRAMES = r"""
    #include <alloca.h>
    #include <pthread.h>
    #include <setjmp.h>
    #include <stdint.h>
    #include <stdlib.h>
    #include <string.h>
    static __thread uint64_t state = 1;
    static __thread jmp_buf back;
    static __thread int budget;
    static unsigned dice(unsigned sides) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (unsigned)(state >> 40) % sides;
    }
    static void any(int depth);
    #define TAIL(memory) \
        do { memset((void *)(memory), 0, 1); any(depth - 1); __asm__ volatile("" ::: "memory"); } while (0)
    __attribute__((noinline)) static void small(int depth) { volatile char frame[24]; TAIL(frame); }
    __attribute__((noinline)) static void large(int depth) { volatile char frame[56]; TAIL(frame); }
    __attribute__((noinline)) static void grows(int depth) { TAIL(alloca(16 * dice(5) + 1)); }
    __attribute__((noinline, optimize("no-omit-frame-pointer"))) static void framed(int depth) {
        volatile char frame[40];
        TAIL(frame);
    }
    __attribute__((noinline)) static void aligned(int depth) {
        volatile char frame[64] __attribute__((aligned(64)));
        TAIL(frame);
    }
    __attribute__((noinline)) static void aligned_and_grows(int depth) {
        volatile char frame[64] __attribute__((aligned(64)));
        frame[0] = 1;
        TAIL(alloca(16 * dice(5) + 1));
    }
    __attribute__((noinline)) static void saves(int depth) { /* rbp is saved and used for a value */
        __asm__ volatile("" ::: "rbx", "rbp", "r12");
        any(depth - 1);
        __asm__ volatile("" ::: "rbx", "rbp", "r12");
    }
    static void any(int depth) {
        static void (*const kinds[])(int) = {small, large, grows, framed, aligned, aligned_and_grows, saves};
        for (unsigned times = dice(4); times != 0; times--) free(malloc(dice(200)));
        if (depth <= 0 || --budget < 0) return;
        if (dice(200) == 0) longjmp(back, 1);
        for (unsigned times = 1 + dice(2); times != 0; times--) kinds[dice(7)](depth - (int)dice(3));
    }
    static void *rounds(void *seed) {
        state = (uint64_t)(uintptr_t)seed;
        for (volatile int round = 0; round < 1500; round++)
            if (setjmp(back) == 0) {
                budget = 100;
                any(round % 50 == 0 ? 150 : 12);
            }
        return NULL;
    }
    int main(void) {
        pthread_t threads[2];
        for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, rounds, (void *)(i + 2L));
        rounds((void *)1);
        for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
        return 0;
    }"""


def check_preload() -> str:
    sources = [
        PRELOAD / "test" / "unwind_check.cpp",
        *sorted((PRELOAD / "unwind").glob("*.cpp")),
        *(
            PRELOAD / "common" / f"{name}.cpp"
            for name in ("platform", "provider", "real", "stack_table", "stack_walk")
        ),
    ]
    words = ["g++", "-std=c++20", "-O2", "-g", "-shared", "-fPIC", "-fno-exceptions", "-fno-rtti"]
    words += [
        "-fvisibility=hidden",
        "-fno-threadsafe-statics",
        "-fno-builtin-malloc",
        "-fasynchronous-unwind-tables",
    ]
    words += [f"-I{PRELOAD / 'common'}", f"-I{PRELOAD / 'unwind'}", f"-I{PRELOAD.parent / 'format'}"]
    return compiled(
        "libreap-unwind-check.so",
        [
            *words,
            *sources,
            "-o",
            OUT,
            "-nodefaultlibs",
            "-Wl,--exclude-libs,ALL,-z,now",
            "-lgcc_eh",
            "-lgcc",
            "-lc",
        ],
    )


def checked(folder: Path, *words: str) -> tuple[dict[str, int], str]:
    """The stacks of each program that ran, without a difference, and what it printed."""
    log = folder / "log"
    variables = {**os.environ, "LD_PRELOAD": check_preload(), "REAP_UNWIND_CHECK": str(log)}
    done = subprocess.run(words, env=variables, capture_output=True, text=True, check=True, timeout=120)
    lines = LINE.findall(log.read_text())
    assert lines
    assert all(line[5] == "0" for line in lines), log.read_text()
    return {line[0]: int(line[1]) for line in lines}, done.stdout


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("perl", ["perl", "-e", PERL]),
        ("python3", ["/usr/bin/python3", "-c", PYTHON]),
        ("cc1plus", ["g++", "-x", "c++", "-O1", "-S", "-o", "/dev/null", "{source}"]),
        ("sort", ["sh", "-c", "seq 3000 | sort -r --parallel=4"]),
    ],
)
def test_real_programs(tmp_path, name, words):
    source = tmp_path / "text.cpp"
    source.write_text(CPP)
    if shutil.which(words[0]) is None:
        pytest.skip(f"{words[0]} is not installed")
    seen, _ = checked(tmp_path, *(word.replace("{source}", str(source)) for word in words))
    assert seen[name] > 100


# The check walks each stack by libgcc, too, and keeps the frames on it: the recorder needs less.
FOR_THE_CHECK = str(64 << 10)


@pytest.mark.parametrize("mode", ["stacks", "handlers", "jump", "fibers"])
def test_stacks_of_its_own(tmp_path, mode):
    seen, _ = checked(tmp_path, target("fragile"), mode, FOR_THE_CHECK)
    assert sum(seen.values()) > 1000


def test_a_stack_without_a_caller_at_its_end(tmp_path):
    seen, _ = checked(tmp_path, target("own_stack"))
    assert sum(seen.values()) == 1500


def test_a_plugin_in_the_place_of_another(tmp_path):
    """The same return address has another rule: the frame has another size."""
    seen, printed = checked(tmp_path, compile_c("reloads", HOST, ["-O1", "-fno-builtin"]), *plugins())
    assert seen["reloads"] > 600
    assert int(printed.split()[0]) > 50


def plugins() -> list[str]:
    flags = ["-O1", "-fno-builtin", "-shared", "-fPIC", "-fno-stack-protector"]
    return [compile_c(f"libframe{size}.so", PLUGIN, [*flags, f"-DFRAME={size}"]) for size in (24, 56, 88)]


def test_a_plugin_in_the_place_of_one_that_was_closed_unseen(tmp_path):
    """By a dlclose that no preload sees, as that of a copy of the C library."""
    host = compile_c("reloads-unseen", UNSEEN_HOST, ["-O1", "-fno-builtin"])
    seen, printed = checked(tmp_path, host, *plugins())
    assert seen["reloads-unseen"] > 600
    assert int(printed.split()[0]) > 50


def test_a_fork_during_another_thread_s_dlclose(tmp_path):
    """The child does not leave all of its stacks to libgcc for ever."""
    plugin = compile_c("libslowclose.so", SLOW_PLUGIN, ["-shared", "-fPIC"])
    host = compile_c("forks-in-close", FORKS_DURING_CLOSE, ["-O1", "-fno-builtin", "-pthread"])
    seen, _ = checked(tmp_path, host, plugin)
    assert seen["child"] > 1000
    line = next(line for line in LINE.findall((tmp_path / "log").read_text()) if line[0] == "child")
    assert int(line[3]) == seen["child"]


def test_coroutines_chained_to_a_thread_s_small_stack(tmp_path):
    host = compile_c("chained", CHAINED, ["-O1", "-fno-builtin", "-pthread"])
    seen, _ = checked(tmp_path, host)
    assert seen["chained"] > 1600


@pytest.mark.parametrize("optimization", ["-O1", "-O2", "-Os"])
def test_frames_of_each_kind_in_random_order(tmp_path, optimization):
    program = compile_c("frames", FRAMES, [optimization, "-fno-builtin-malloc", "-pthread", "-w"])
    seen, _ = checked(tmp_path, program)
    assert seen["frames"] > 100000
