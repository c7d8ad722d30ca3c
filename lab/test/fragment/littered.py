"""Small C programs, and how they are run on a littered heap."""

import functools
from pathlib import Path

from programs import compile_c

from reap.launch import spawn
from reap.launch.litter import run as littering
from reap.launch.litter.level import custom, named
from reap.launch.litter.records import Litter, Littered
from reap.launch.records import Launch

SIZES = [(16, 40), (48, 30), (120, 20), (500, 9), (2000, 1)]


# Programs speak on standard error, whose end the launcher keeps.
HEAD = r"""
    #define _GNU_SOURCE
    #include <dlfcn.h>
    #include <malloc.h>
    #include <pthread.h>
    #include <stdint.h>
    #include <stdio.h>
    #include <stdlib.h>
    #include <sys/wait.h>
    #include <unistd.h>
    #define SAY(...) fprintf(stderr, __VA_ARGS__)
    """


SOURCES = {
    # Where its blocks lie.
    "addresses": r'int main(void) { for (int i = 0; i < 50; i++) SAY("%p\n", malloc(i * 13 % 600)); }',
    # Whether a block of 200 KB comes by mmap: the bit that glibc keeps in front of a block.
    "threshold": r'int main(void) { size_t *p = malloc(200000); SAY("%zu\n", p[-1] & 2); }',
    # glibc's own account of its bins, before anything else.
    "bins": r"int main(void) { malloc_info(0, stderr); }",
    # What was in use when the first constructor of a library had run.
    "constructed": r'extern size_t in_use; int main(void) { SAY("%zu\n", in_use); }',
    "threads": r"""
        static void *work(void *given) { free(malloc(100)); return given; }
        int main(int count, char **words) {
            pthread_t all[64];
            int n = atoi(words[1]);
            for (int i = 0; i < n; i++) pthread_create(all + i, 0, work, all + i);
            for (int i = 0; i < n; i++) {
                void *got;
                pthread_join(all[i], &got);
                if (got != all + i) return 1;
            }
            SAY("%d joined", n);
            return 0;
        }""",
    # Executes its words in a child; without any, the child is a copy that says what it has in use.
    "parent": r"""int main(int count, char **words) {
        int status;
        if (!fork()) {
            if (count > 1) { execv(words[1], words + 1); _exit(9); }
            SAY("%zu\n", mallinfo2().uordblks);
            _exit(0);
        }
        wait(&status);
        return WEXITSTATUS(status);
    }""",
    "environment": r'int main(int n, char **w, char **e) { for (; *e; e++) SAY("%s\n", *e); return 0; }',
    # Throws its environment away, and ends without any handler.
    "careless": r'int main(void) { clearenv(); setenv("REAP_LITTER", "/nowhere", 1); _exit(3); }',
    # Uses 50 ms of CPU time, whatever was used before.
    "spin": r"""
        #include <time.h>
        static long used(void) {
            struct timespec t;
            clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
            return t.tv_sec * 1000000000 + t.tv_nsec;
        }
        int main(void) { for (long begin = used(); used() < begin + 50000000;); return 0; }""",
    # Creates a thread while it holds the lock that its own malloc wants.
    "locked": r"""
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        void *__libc_malloc(size_t);
        void *malloc(size_t size) {
            pthread_mutex_lock(&lock);
            void *got = __libc_malloc(size);
            pthread_mutex_unlock(&lock);
            return got;
        }
        static void *work(void *given) { return malloc(10) ? given : NULL; }
        int main(void) {
            pthread_t one, two;
            void *got[2];
            pthread_mutex_lock(&lock);
            pthread_create(&one, 0, work, &one);
            pthread_mutex_unlock(&lock);
            pthread_create(&two, 0, work, &two);
            pthread_join(one, got);
            pthread_join(two, got + 1);
            SAY(got[0] == &one && got[1] == &two ? "joined" : "lost");
            return 0;
        }""",
    # Dies where any thread opens a file, and has four threads.
    "sandboxed": r"""
        #include <linux/filter.h>
        #include <linux/seccomp.h>
        #include <stddef.h>
        #include <sys/prctl.h>
        #include <sys/syscall.h>
        static void *work(void *given) { free(malloc(100)); return given; }
        int main(void) {
            struct sock_filter rules[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ, SYS_openat, 0, 1),
                BPF_STMT(BPF_RET, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET, SECCOMP_RET_ALLOW)};
            struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
            pthread_t all[4];
            prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
            if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) { SAY("no seccomp"); return 0; }
            for (int i = 0; i < 4; i++) pthread_create(all + i, 0, work, 0);
            for (int i = 0; i < 4; i++) pthread_join(all[i], 0);
            SAY("joined");
            return 0;
        }""",
    # Executes its words in two children, and lets the kernel forget them.
    "unwaited": r"""
        #include <signal.h>
        int main(int count, char **words) {
            signal(SIGCHLD, SIG_IGN);
            for (int i = 0; i < 2; i++)
                if (!fork()) { execv(words[1], words + 1); _exit(9); }
            wait(NULL);
            return 0;
        }""",
    "dies": "int main(void) { abort(); }",
    # Opens a library that binds malloc past every preload.
    "deepbind": r"""int main(int count, char **words) {
        void *library = dlopen(words[1], RTLD_NOW | RTLD_DEEPBIND);
        if (!library) { SAY("%s", dlerror()); return 1; }
        char *(*make)(void) = (char *(*)(void))dlsym(library, "make");
        free(make());
        SAY("opened");
        return 0;
    }""",
    "aligned": r"""int main(void) {
        for (int i = 0; i < 1000; i++) {
            void *p = memalign(64, 100 + i), *q = NULL;
            if ((uintptr_t)p % 64 || posix_memalign(&q, 4096, 10)) return 1;
            free(p);
            free(q);
        }
        SAY("aligned");
        return 0;
    }""",
    "zero": r'int main(void) { void *p = malloc(0), *q = malloc(0); SAY(p && q != p ? "two" : "none"); }',
}


@functools.cache
def target(name: str) -> str:
    """The path of one of SOURCES, compiled."""
    flags = ["-O1", "-fno-builtin", "-pthread"]
    if name == "constructed":
        source = (
            HEAD + "size_t in_use; __attribute__((constructor)) static void begin(void)"
            "{ free(malloc(10)); in_use = mallinfo2().uordblks; }"
        )
        first = Path(compile_c("libfirst.so", source, ["-O1", "-fPIC", "-shared", "-fno-builtin"]))
        path = f"-Wl,-rpath,$ORIGIN/../{first.parent.name}"
        flags += [path, f"-L{first.parent}", f"-Wl,--no-as-needed,-l:{first.name}"]
    if name == "deepbind":
        flags += [f"-Wl,-rpath,$ORIGIN/../{Path(extension()).parent.name}"]
    return compile_c(name, HEAD + SOURCES[name], flags)


def extension() -> str:
    """A library that "deepbind" can open: its block is malloc's as it finds it."""
    source = '#include <string.h>\nchar *make(void) { return strdup("made"); }'
    return compile_c("libmake.so", source, ["-O1", "-fPIC", "-shared"])


def litter(level: str | tuple[float, float] = "adv3", **changes: object) -> Litter:
    """A litter for a program that has ten thousand small blocks."""
    chosen = named(level) if isinstance(level, str) else custom(*level)
    return Litter(**{"level": chosen, "sizes": SIZES, "peak": 10000, **changes})


def run(how: Litter, *argv: str, **options: object) -> Littered:
    return littering.run(Launch(argv=list(argv), program=argv[0], **options), how)


def said(how: Litter, *argv: str, **options: object) -> str:
    """What a program that ends well says on a littered heap."""
    outcome = run(how, *argv, **options).outcome
    assert outcome.status == 0, outcome
    return outcome.stderr_tail


def bare(*argv: str, **options: object) -> str:
    outcome = spawn.run(Launch(argv=list(argv), program=argv[0], **options))
    assert outcome.status == 0, outcome
    return outcome.stderr_tail


def unrandomised(name: str) -> tuple[str, ...]:
    """The same program with address randomisation off; it is a child of the one that switches it off."""
    return ("/usr/bin/setarch", "-R", target(name))


PROFILE = {
    "format": "reap size profile",
    "version": 1,
    "program": "",
    "command": [],
    "counted": "allocations",
    "cut_off": 4096,
    "sizes": SIZES,
    "left_out": 0,
    "left_out_bytes": 0,
    "peak": {"value": 10000, "low": 10000, "high": 10000},
}
