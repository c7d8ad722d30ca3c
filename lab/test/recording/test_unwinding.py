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

PRELOAD = Path(__file__).resolve().parents[2] / "preload"
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
    words += [f"-I{PRELOAD / 'common'}", f"-I{PRELOAD / 'unwind'}"]
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


@pytest.mark.parametrize("mode", ["stacks", "handlers", "jump", "fibers"])
def test_stacks_of_its_own(tmp_path, mode):
    seen, _ = checked(tmp_path, target("fragile"), mode)
    assert sum(seen.values()) > 1000


def test_a_stack_without_a_caller_at_its_end(tmp_path):
    seen, _ = checked(tmp_path, target("own_stack"))
    assert sum(seen.values()) == 1500


def test_a_plugin_in_the_place_of_another(tmp_path):
    """The same return address has another rule: the frame has another size."""
    flags = ["-O1", "-fno-builtin", "-shared", "-fPIC", "-fno-stack-protector"]
    plugins = [compile_c(f"libframe{size}.so", PLUGIN, [*flags, f"-DFRAME={size}"]) for size in (24, 56, 88)]
    seen, printed = checked(tmp_path, compile_c("reloads", HOST, ["-O1", "-fno-builtin"]), *plugins)
    assert seen["reloads"] > 600
    assert int(printed.split()[0]) > 50


@pytest.mark.parametrize("optimization", ["-O1", "-O2", "-Os"])
def test_frames_of_each_kind_in_random_order(tmp_path, optimization):
    program = compile_c("frames", FRAMES, [optimization, "-fno-builtin-malloc", "-pthread", "-w"])
    seen, _ = checked(tmp_path, program)
    assert seen["frames"] > 100000
