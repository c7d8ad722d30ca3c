"""Small real programs and libraries for the tests."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

from building import OUT, compiled

from reap.allocators import catalog
from reap.base.errors import ExitCode

NOBODY = 65534

SOURCES = {
    # Takes MB, touches them, and says on standard error what the kernel says was its peak.
    "peak": r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(int count, char **words) {
            size_t size = (size_t)atoi(words[1]) << 20;
            char *block = malloc(size + 1), line[256];
            memset(block, 1, size);
            FILE *status = fopen("/proc/self/status", "r");
            while (fgets(line, sizeof line, status))
                if (!strncmp(line, "VmHWM:", 6)) fprintf(stderr, "%ld", atol(line + 6) * 1024);
            return block[size / 2] == 2;
        }""",
    # Ends with 3 where anything is preloaded.
    "refuses": r"""
        #include <stdlib.h>
        int main(void) {
            const char *preload = getenv("LD_PRELOAD");
            if (preload && *preload) return 3;
            for (int i = 0; i < 2000000; ++i) {
                char *volatile block = malloc(64);
                free(block);
            }
        }""",
    # Asks the system for what its words say, in MB, by no allocator: WORD MB, or "again", which executes it
    # again with the words that follow.
    "asks": r"""
        #define _GNU_SOURCE
        #include <pthread.h>
        #include <stdlib.h>
        #include <string.h>
        #include <sys/mman.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static char *block;
        static void *map(size_t size, int protection) {
            return block = mmap(0, size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        }
        static void *in_thread(void *size) { return map((size_t)size, PROT_READ | PROT_WRITE); }
        int main(int count, char **words) {
            size_t before = 0;
            for (int at = 1; at < count; at += 2) {
                if (!strcmp(words[at], "again")) {
                    words[at] = words[0];
                    return execv("/proc/self/exe", words + at);
                }
                size_t size = (size_t)atoi(words[at + 1]) << 20;
                if (!strcmp(words[at], "brk")) sbrk((long)size);
                if (!strcmp(words[at], "map")) map(size, PROT_READ | PROT_WRITE);
                if (!strcmp(words[at], "unmap")) munmap(block, size);
                if (!strcmp(words[at], "reserve")) map(size, PROT_NONE);
                if (!strcmp(words[at], "open")) mprotect(block, size, PROT_READ | PROT_WRITE);
                if (!strcmp(words[at], "move")) block = mremap(block, before, size, MREMAP_MAYMOVE);
                if (!strcmp(words[at], "thread")) {
                    pthread_t thread;
                    pthread_create(&thread, 0, in_thread, (void *)size);
                    pthread_join(thread, 0);
                }
                if (!strcmp(words[at], "child")) {
                    if (fork() == 0) _exit(map(size, PROT_READ | PROT_WRITE) == MAP_FAILED);
                    wait(0);
                }
                before = size;
            }
            return 0;
        }""",
    # Writes all over the file by which a litter is reported.
    "scribbles": r"""
        #include <stdio.h>
        #include <string.h>
        int main(void) {
            char line[512];
            unsigned long begin, end;
            FILE *map = fopen("/proc/self/maps", "r");
            while (fgets(line, sizeof line, map))
                if (strstr(line, "reap-litter-") && sscanf(line, "%lx-%lx", &begin, &end) == 2)
                    memset((void *)begin, 0xee, end - begin);
            return 3;
        }""",
    "spin": r"""
        #include <time.h>
        int main(void) {
            struct timespec t;
            do clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); while (t.tv_sec == 0 && t.tv_nsec < 50000000);
            return 0;
        }""",
    # Allocates with every function; prints a sum that depends on nothing else.
    "busy": r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <string.h>
        int main(int count, char **words) {
            enum { n = 2000 };
            static char *blocks[n];
            unsigned long sum = 0, size = 0;
            for (int round = 0; round < 20; round++)
                for (int i = 0; i < n; i++) {
                    free(blocks[i]);
                    size = (size * 1103515245 + 12345) % 2048;
                    blocks[i] = i % 3 ? malloc(size + 1) : calloc(1, size + 1);
                    if (i % 7 == 0) blocks[i] = realloc(blocks[i], size + 100);
                    if (i % 11 == 0) { free(blocks[i]); blocks[i] = aligned_alloc(64, 640); }
                    blocks[i][0] = 1;
                    sum += size;
                }
            if (count > 1) { char *big = malloc(777777); if (!big) return 7; memset(big, 1, 777777); }
            printf("%lu\n", sum);
            return 0;
        }""",
    "own_malloc": r"""
        #include <stdio.h>
        #include <stdlib.h>
        static char pool[1 << 20];
        static size_t used;
        void *malloc(size_t n) { used = (used + 15) & ~15ul; used += n; return pool + used - n; }
        void free(void *p) { (void)p; }
        int main(void) { char *p = malloc(3); p[0] = 0; free(p); puts("own"); return 0; }""",
    # A program that is not position-independent and takes malloc's address has a malloc symbol with a value.
    "takes_address": r"""
        #include <stdlib.h>
        void *(*volatile take)(size_t);
        int main(void) { take = malloc; free(take(3)); return 0; }""",
    # Ends a moment after the first SIGINT with how many there were; after SIGTERM with 40 and as many.
    "counts_interrupts": r"""
        #include <signal.h>
        #include <stdio.h>
        #include <time.h>
        #include <unistd.h>
        static volatile sig_atomic_t seen;
        static void interrupt(int n) { seen++; }
        static void end(int n) { _exit(40 + seen); }
        int main(void) {
            struct timespec moment = {0, 10000000};
            signal(SIGINT, interrupt);
            signal(SIGTERM, end);
            puts("ready");
            fflush(stdout);
            while (!seen) nanosleep(&moment, 0);
            for (int i = 0; i < 30; i++) nanosleep(&moment, 0);
            return seen;
        }""",
    # An orphan says whether it is adopted by the process that adopts those of whoever started this program.
    "orphan": r"""
        #include <stdio.h>
        #include <stdlib.h>
        #include <sys/wait.h>
        #include <unistd.h>
        int main(int count, char **words) {
            int ends[2], i;
            char byte;
            pipe(ends);
            if (fork() == 0) {
                pid_t parent = getpid();
                if (fork() == 0) {
                    for (i = 0; i < 5000 && getppid() == parent; i++) usleep(1000);
                    printf("%d\n", getppid());
                    fflush(stdout);
                    _exit(0);
                }
                _exit(0);
            }
            close(ends[1]);
            read(ends[0], &byte, 1);
            return 0;
        }""",
    "echo_group": r"""
        #include <stdio.h>
        #include <unistd.h>
        int main(void) { printf("%d %d\n", getpgrp(), getsid(0)); return 0; }""",
}

FLAGS = {
    "peak_static": ["-static"],
    "takes_address": ["-fno-pic", "-no-pie"],
}

_FORWARD = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <errno.h>
    #include <stddef.h>
    #include <unistd.h>
    extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
    extern void *__libc_memalign(size_t, size_t);
    extern void __libc_free(void *);
    void *malloc(size_t n) { ODD(n) return __libc_malloc(n); }
    void free(void *p) { __libc_free(p); }
    void *calloc(size_t n, size_t m) { return __libc_calloc(n, m); }
    void *realloc(void *p, size_t n) { return __libc_realloc(p, n); }
    void *memalign(size_t a, size_t n) { return __libc_memalign(a, n); }
    int posix_memalign(void **p, size_t a, size_t n) { *p = __libc_memalign(a, n); return *p ? 0 : ENOMEM; }
    size_t malloc_usable_size(void *p) {
        static size_t (*next)(void *);
        if (!next) next = (size_t (*)(void *))dlsym(RTLD_NEXT, "malloc_usable_size");
        return next(p);
    }
    """
_ALIGNED = "void *aligned_alloc(size_t a, size_t n) { return __libc_memalign(a, n); }\n"


def _without(*functions: str) -> str:
    """The allocator less these functions, each of which is a line."""
    named = re.compile(rf"\W({'|'.join(functions)})\(.*\{{")
    return "\n".join(line for line in _FORWARD.splitlines() if not named.search(line))


LIBRARIES = {
    "good": "#define ODD(n)\n" + _FORWARD + _ALIGNED,
    "crashes": "#define ODD(n) if (n == 777777) *(volatile int *)0 = 0;\n" + _FORWARD + _ALIGNED,
    "hangs": "#define ODD(n) if (n == 777777) for (;;) pause();\n" + _FORWARD + _ALIGNED,
    "refuses": "#define ODD(n) if (n == 777777) return NULL;\n" + _FORWARD + _ALIGNED,
    "lacks_aligned": "#define ODD(n)\n" + _without("memalign", "posix_memalign"),
    # As Hoard: aligned blocks by other names.
    "memalign": "#define ODD(n)\n" + _FORWARD,
    "posix_memalign": "#define ODD(n)\n" + _without("memalign"),
    "no_malloc": "int nothing(void) { return 0; }\n",
    # Speaks on the program's standard output.
    "talks": '#define ODD(n) if (n == 777777) (void)!write(1, "hello\\n", 6);\n' + _FORWARD + _ALIGNED,
}


@functools.cache
def program(name: str) -> str:
    """The path of one of SOURCES, compiled. `NAME_static` is the same, linked statically."""
    source = SOURCES[name.removesuffix("_static")]
    return compile_c(name, source, ["-O1", *FLAGS.get(name, [])])


@functools.cache
def library(name: str) -> str:
    """The path of one of LIBRARIES, compiled."""
    return compile_c(f"lib{name}.so", LIBRARIES[name], ["-O1", "-fPIC", "-shared", "-fno-builtin"])


def linked_library(folder: Path) -> str:
    """An allocator that the loader knows by a link, as most libraries, and the kernel by its file."""
    file, link = folder / "libmine.so.1.0", folder / "linked" / "libmine.so"
    shutil.copy(catalog.find("reap").library, file)
    link.parent.mkdir()
    link.symlink_to(file)
    return str(link)


def compile_c(name: str, source: str, flags: list[str], libraries: list[str] | None = None) -> str:
    """The path of a program or library, compiled as `name`."""
    words = ["gcc", "-w", "-x", "c", *flags, "-o", OUT, "-", *(libraries or [])]
    return compiled(name, words, text=source)


def reap(*words: str, **options) -> subprocess.CompletedProcess:
    """Runs the command `reap` as a user would."""
    options = {"capture_output": True, "text": True, "stdin": subprocess.DEVNULL, **options}
    return subprocess.run([*reap_command(), *words], check=False, **options)


def reap_command() -> list[str]:
    """The words that start `reap` with this Python."""
    return [sys.executable, "-c", "from reap.cli.main import main; main()"]


def as_nobody(action: Callable[[], str]) -> str:
    """What `action` returns when run as an unprivileged user, in a process of its own."""
    receiving, sending = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork beside threads: the child uses none
        child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(NOBODY)
                os.setuid(NOBODY)
            os.write(sending, action().encode())
        finally:
            os._exit(0)
    os.close(sending)
    with os.fdopen(receiving) as answer:
        text = answer.read()
    os.waitpid(child, 0)
    return text


def alive(pattern: str) -> bool:
    """Whether some process has `pattern` in its command line."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if pattern.encode() in (folder / "cmdline").read_bytes().replace(b"\0", b" "):
                return True
        except OSError:
            continue
    return False


def ends(pattern: str) -> bool:
    """Whether no process is left with `pattern` in its command line; a killed one dies once it runs."""
    deadline = time.monotonic() + 60
    while alive(pattern):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def interrupted(*words: str, folder: Path) -> tuple[str, str]:
    """Send SIGINT to `reap` once its program has made the file `begun`; what it printed and what it said."""
    process = subprocess.Popen([*reap_command(), *words], cwd=folder, text=True, stdout=-1, stderr=-1)
    until = time.monotonic() + 20
    while not (folder / "begun").exists() and time.monotonic() < until:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=30)
    assert process.returncode == ExitCode.SIGNALLED + signal.SIGINT, said
    return printed, said
