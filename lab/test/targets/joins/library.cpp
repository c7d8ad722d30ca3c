// Makes each call of CALLS (or those whose names begin as JOINS says) as the first of a thread, which the
// constructor of this library waits for, or its destructor if JOINS_AT is "unload". Prints the name of each
// call that returned, and "NAME hangs" for one whose thread did not end while the constructor waited.
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dlfcn.h>
#include <fcntl.h>
#include <grp.h>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <wordexp.h>

namespace {

char *words[] = {const_cast<char *>("none"), nullptr};
constexpr const char *kNone = "/nonexistent/program";
char from[64] = "some bytes";
char to[64];
char stack[65536];
wordexp_t expanded;
void *block;   // what the thread is to free
void *aligned; // the same, aligned
char *page;

void *nothing(void *) { return nullptr; }
int nothing_at_all(void *) { return 0; }

template <class Result, class... Arguments>
Result as(void *function, Arguments... arguments) {
    return reinterpret_cast<Result (*)(Arguments...)>(function)(arguments...);
}

void wait_for(pid_t child) {
    int status;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
}

// An operator new that fails, without the C library's refusing the size at compile time.
void fail(void *function) {
    volatile size_t size = SIZE_MAX / 2;
    try {
        as<void *>(function, size_t(size));
        puts("a block");
    } catch (const std::bad_alloc &) {
    }
}

struct Call {
    const char *name;
    void (*call)(void *function);
    const char *symbol = nullptr; // where it is not the name
    bool apart = false;           // made only where JOINS is set
};

#define NEW(symbol) {#symbol, [](void *f) { as<void *>(f, size_t{8}); }}
#define NEW_NOTHROW(symbol) {#symbol, [](void *f) { as<void *>(f, size_t{8}, (const void *)from); }}
#define NEW_ALIGNED(symbol) {#symbol, [](void *f) { as<void *>(f, size_t{8}, size_t{64}); }}
#define NEW_ALIGNED_NOTHROW(symbol)                                                                          \
    {#symbol, [](void *f) { as<void *>(f, size_t{8}, size_t{64}, (const void *)from); }}
#define ID(symbol, get) {#symbol, [](void *f) { as<int>(f, get()); }}
#define IDS(symbol, get) {#symbol, [](void *f) { as<int>(f, get(), get()); }}

const Call calls[] = {
    NEW(_Znwm),
    NEW(_Znam),
    NEW_NOTHROW(_ZnwmRKSt9nothrow_t),
    NEW_NOTHROW(_ZnamRKSt9nothrow_t),
    NEW_ALIGNED(_ZnwmSt11align_val_t),
    NEW_ALIGNED(_ZnamSt11align_val_t),
    NEW_ALIGNED_NOTHROW(_ZnwmSt11align_val_tRKSt9nothrow_t),
    NEW_ALIGNED_NOTHROW(_ZnamSt11align_val_tRKSt9nothrow_t),
    {"_ZdlPv", [](void *f) { as<void>(f, block); }},
    {"_ZdaPv", [](void *f) { as<void>(f, block); }},
    {"_ZdlPvm", [](void *f) { as<void>(f, block, size_t{8}); }},
    {"_ZdaPvm", [](void *f) { as<void>(f, block, size_t{8}); }},
    {"_ZdlPvRKSt9nothrow_t", [](void *f) { as<void>(f, block, from); }},
    {"_ZdaPvRKSt9nothrow_t", [](void *f) { as<void>(f, block, from); }},
    {"_ZdlPvSt11align_val_t", [](void *f) { as<void>(f, aligned, size_t{64}); }},
    {"_ZdaPvSt11align_val_t", [](void *f) { as<void>(f, aligned, size_t{64}); }},
    {"_ZdlPvmSt11align_val_t", [](void *f) { as<void>(f, aligned, size_t{64}, size_t{64}); }},
    {"_ZdaPvmSt11align_val_t", [](void *f) { as<void>(f, aligned, size_t{64}, size_t{64}); }},
    {"_ZdlPvSt11align_val_tRKSt9nothrow_t", [](void *f) { as<void>(f, aligned, size_t{64}, from); }},
    {"_ZdaPvSt11align_val_tRKSt9nothrow_t", [](void *f) { as<void>(f, aligned, size_t{64}, from); }},
    {"malloc", [](void *f) { as<void *>(f, size_t{8}); }},
    {"free", [](void *f) { as<void>(f, block); }},
    {"calloc", [](void *f) { as<void *>(f, size_t{1}, size_t{8}); }},
    {"realloc", [](void *f) { as<void *>(f, block, size_t{80}); }},
    {"reallocarray", [](void *f) { as<void *>(f, block, size_t{80}, size_t{2}); }},
    {"posix_memalign", [](void *f) { as<int>(f, &block, size_t{64}, size_t{64}); }},
    {"aligned_alloc", [](void *f) { as<void *>(f, size_t{64}, size_t{64}); }},
    {"memalign", [](void *f) { as<void *>(f, size_t{64}, size_t{64}); }},
    {"valloc", [](void *f) { as<void *>(f, size_t{64}); }},
    {"pvalloc", [](void *f) { as<void *>(f, size_t{64}); }},
    {"malloc_usable_size", [](void *f) { as<size_t>(f, block); }},
    {"mallopt", [](void *f) { as<int>(f, M_PERTURB, 0); }},
    {"reap_mark_listener_1", [](void *f) { (*static_cast<void (**)()>(f))(); }},
    {"prctl", [](void *f) { reinterpret_cast<int (*)(int, ...)>(f)(PR_GET_NAME, to); }},
    {"sigaction", [](void *f) { as<int>(f, SIGUSR1, (void *)nullptr, (void *)nullptr); }},
    {"signal", [](void *f) { as<sighandler_t>(f, SIGUSR2, SIG_DFL); }},
    {"execve", [](void *f) { as<int>(f, kNone, words, environ); }},
    {"execv", [](void *f) { as<int>(f, kNone, words); }},
    {"execvp", [](void *f) { as<int>(f, kNone, words); }},
    {"execvpe", [](void *f) { as<int>(f, kNone, words, environ); }},
    {"execveat", [](void *f) { as<int>(f, AT_FDCWD, kNone, words, environ, 0); }},
    {"fexecve", [](void *f) { as<int>(f, -1, words, environ); }},
    {"execl",
     [](void *f) {
         reinterpret_cast<int (*)(const char *, const char *, ...)>(f)(kNone, "none", (char *)nullptr);
     }},
    {"execlp",
     [](void *f) {
         reinterpret_cast<int (*)(const char *, const char *, ...)>(f)(kNone, "none", (char *)nullptr);
     }},
    {"execle",
     [](void *f) {
         reinterpret_cast<int (*)(const char *, const char *, ...)>(f)(kNone, "none", (char *)nullptr,
                                                                       environ);
     }},
    {"posix_spawn", [](void *f) { as<int>(f, to, kNone, (void *)nullptr, (void *)nullptr, words, environ); }},
    {"posix_spawnp",
     [](void *f) { as<int>(f, to, kNone, (void *)nullptr, (void *)nullptr, words, environ); }},
    {"system",
     [](void *f) { // its shell must not load this library, too
         char **const kept = environ;
         environ = words + 1;
         as<int>(f, (const char *)nullptr);
         environ = kept;
     }},
    {"popen", [](void *f) { as<void *>(f, kNone, "neither"); }},
    {"wordexp", [](void *f) { as<int>(f, "$(none)", &expanded, WRDE_NOCMD); }},
    {"syscall", [](void *f) { reinterpret_cast<long (*)(long, ...)>(f)(SYS_getppid); }},
    {"pthread_create",
     [](void *f) {
         pthread_t other;
         if (as<int>(f, &other, (void *)nullptr, nothing, (void *)nullptr) == 0) pthread_join(other, nullptr);
     }},
    ID(setuid, getuid),
    ID(seteuid, geteuid),
    ID(setgid, getgid),
    ID(setegid, getegid),
    {"setreuid", [](void *f) { as<int>(f, getuid(), geteuid()); }},
    {"setregid", [](void *f) { as<int>(f, getgid(), getegid()); }},
    {"setresuid", [](void *f) { as<int>(f, uid_t(-1), uid_t(-1), uid_t(-1)); }},
    {"setresgid", [](void *f) { as<int>(f, gid_t(-1), gid_t(-1), gid_t(-1)); }},
    {"setgroups", [](void *f) { as<int>(f, size_t(INT_MAX), (void *)nullptr); }},
    {"initgroups", [](void *f) { as<int>(f, "nobody at all", getgid()); }},
    {"unshare", [](void *f) { as<int>(f, 0); }},
    {"setns", [](void *f) { as<int>(f, -1, 0); }},
    {"pthread_exit", [](void *f) { as<void>(f, (void *)nullptr); }},
    {"thrd_exit", [](void *f) { as<void>(f, 0); }},
    {"_Fork",
     [](void *f) {
         const auto child = as<pid_t>(f);
         if (child == 0) _exit(0);
         wait_for(child);
     }},
    {"clone",
     [](void *f) {
         using Clone = int(int (*)(void *), void *, int, void *, ...);
         wait_for(reinterpret_cast<Clone *>(f)(nothing_at_all, stack + sizeof stack, SIGCHLD, nullptr));
     }},
    {"__register_atfork", [](void *f) { as<int>(f, nullptr, nullptr, nullptr, nullptr); }},
    {"madvise", [](void *f) { as<int>(f, page, size_t{4096}, MADV_DONTNEED); }},
    {"mprotect", [](void *f) { as<int>(f, page, size_t{4096}, PROT_READ); }},
    {"mlockall", [](void *f) { as<int>(f, 0); }},
    {"prlimit", [](void *f) { as<int>(f, 0, RLIMIT_NOFILE, (void *)nullptr, (void *)nullptr); }},
    {"prlimit64", [](void *f) { as<int>(f, 0, RLIMIT_NOFILE, (void *)nullptr, (void *)nullptr); }},
    {"setrlimit", [](void *f) { as<int>(f, -1, (void *)nullptr); }},
    {"setrlimit64", [](void *f) { as<int>(f, -1, (void *)nullptr); }},
    {"syscall", [](void *f) { reinterpret_cast<long (*)(long, ...)>(f)(SYS_getpid); }},
    {"memcpy", [](void *f) { as<void *>(f, to, from, size_t{8}); }},
    {"memmove", [](void *f) { as<void *>(f, to, from, size_t{8}); }},
    {"memset", [](void *f) { as<void *>(f, to, 1, size_t{8}); }},
    {"memcmp", [](void *f) { as<int>(f, to, from, size_t{8}); }},
    {"bcmp", [](void *f) { as<int>(f, to, from, size_t{8}); }},
    {"strlen", [](void *f) { as<size_t>(f, from); }},
    {"__memcpy_chk", [](void *f) { as<void *>(f, to, from, size_t{8}, size_t{64}); }},
    {"__memmove_chk", [](void *f) { as<void *>(f, to, from, size_t{8}, size_t{64}); }},
    {"__memset_chk", [](void *f) { as<void *>(f, to, 1, size_t{8}, size_t{64}); }},
    {"read", [](void *f) { as<ssize_t>(f, -1, to, size_t{8}); }},
    {"write", [](void *f) { as<ssize_t>(f, -1, from, size_t{8}); }},
    {"pread", [](void *f) { as<ssize_t>(f, -1, to, size_t{8}, off_t{0}); }},
    {"pwrite", [](void *f) { as<ssize_t>(f, -1, from, size_t{8}, off_t{0}); }},
    {"recv", [](void *f) { as<ssize_t>(f, -1, to, size_t{8}, 0); }},
    {"send", [](void *f) { as<ssize_t>(f, -1, from, size_t{8}, 0); }},
    {"fread", [](void *f) { as<size_t>(f, to, size_t{1}, size_t{0}, stdin); }},
    {"fwrite", [](void *f) { as<size_t>(f, from, size_t{1}, size_t{0}, stdout); }},
    {"throws", fail, "_Znwm", true},
    // Each ends the process.
    {"_exit", [](void *f) { as<void>(f, 7); }, nullptr, true},
    {"_Exit", [](void *f) { as<void>(f, 7); }, nullptr, true},
};

struct Task {
    void (*call)(void *);
    void *function;
};

void *make_call(void *argument) {
    const Task task = *static_cast<Task *>(argument);
    task.call(task.function);
    return nullptr;
}

void join_one(const Call &call) {
    Task task{call.call, dlsym(RTLD_DEFAULT, call.symbol != nullptr ? call.symbol : call.name)};
    if (task.function == nullptr) return;
    block = malloc(64);
    aligned = aligned_alloc(64, 64);
    pthread_t thread;
    if (pthread_create(&thread, nullptr, make_call, &task) != 0) abort();
    timespec until{};
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += 10;
    const bool hangs = pthread_timedjoin_np(thread, nullptr, &until) != 0;
    dprintf(STDOUT_FILENO, "%s%s\n", call.name, hangs ? " hangs" : "");
    if (hangs) sleep(1); // at the end of dlopen the thread goes on, and reads `task`
}

void join_all() {
    page =
        static_cast<char *>(mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    if (getenv("JOINS_BEGUN") != nullptr) return; // a program that a call executes may load this library, too
    setenv("JOINS_BEGUN", "1", 1);
    const char *only = getenv("JOINS");
    for (const Call &call : calls) {
        if (only != nullptr ? strncmp(only, call.name, strlen(only)) == 0 : !call.apart) join_one(call);
    }
}

bool at_unload() {
    const char *at = getenv("JOINS_AT");
    return at != nullptr && strcmp(at, "unload") == 0;
}

[[gnu::constructor]] void loaded() {
    if (!at_unload()) join_all();
}
[[gnu::destructor]] void unloaded() {
    if (at_unload()) join_all();
}

} // namespace
